#include <cstdlib>

#include "capi/src/comm/handles.h"
#include "runtime/comm/elastic.h"
#include "runtime/comm/remote_store.h"

namespace hr::capi {
namespace {

constexpr int64_t kDefaultTimeout = 600'000'000'000;
constexpr int64_t kDefaultSilence = 10'000'000'000;
constexpr int64_t kMostSilence = int64_t{86'400} * 1'000'000'000;
constexpr int32_t kMostRanks = 1 << 16;

// What a group needs to live as long as its connections.
struct Keeps {
  std::shared_ptr<session::Env> env;
  std::shared_ptr<comm::Store> store;
};

// What the caller gave, else the environment's word, else `otherwise`.
const char* GivenOr(const char* given, const char* variable, const char* otherwise) {
  if (given == nullptr) given = std::getenv(variable);
  return given != nullptr && *given != '\0' ? given : otherwise;
}

// "all_reduce=ring,broadcast=chain"
Result<std::map<comm::OpKind, std::string>> ParsePins(std::string_view text) {
  std::map<comm::OpKind, std::string> pins;
  while (!text.empty()) {
    const std::string_view pin = text.substr(0, text.find(','));
    text.remove_prefix(std::min(pin.size() + 1, text.size()));
    const size_t equals = std::min(pin.find('='), pin.size());
    int code = 0;
    std::string_view name;
    do {
      name = comm::OpKindName(static_cast<comm::OpKind>(code++));
    } while (name != "unknown" && name != pin.substr(0, equals));
    if (name == "unknown" || equals == pin.size()) {
      return InvalidArgument(
          "hr_group_options.algorithms: expected OPERATION=ALGORITHM, such as "
          "all_reduce=ring, got '",
          pin, "'");
    }
    pins[static_cast<comm::OpKind>(code - 1)] = pin.substr(equals + 1);
  }
  return pins;
}

// Fills in what the caller left to the environment. Returns the url of the store.
Result<std::string> ResolveLaunch(hr_group_options& options) {
  std::string url = options.store_url != nullptr ? options.store_url : "";
  const bool has_store = options.store != nullptr || !url.empty();
  if (options.size == 0) {
    HR_ASSIGN_OR_RETURN(cluster::Launch launch, cluster::LaunchFromEnvironment(ProcessEnvironment));
    options.rank = launch.rank;
    options.size = launch.size;
    options.epoch = launch.epoch;
    if (!has_store) url = launch.store;
  } else if (!has_store && options.size == 1) {
    url = "memory:";
  }
  if (options.store == nullptr && url.empty()) {
    return InvalidArgument(
        "rank ", options.rank, " of ", options.size,
        " does not know where the "
        "ranks meet; set HEADRACE_STORE (tcp:HOST:PORT or file:FOLDER), or give a store");
  }
  return url;
}

// Ranks that meet at an address listen where the others can reach them from there.
Result<comm::TransportSettings> SettingsFrom(const hr_group_options& options,
                                             std::string_view store_url) {
  comm::TransportSettings settings = {.towards = comm::HostOfStore(store_url),
                                      .trusted_fabric = options.trusted_fabric != 0};
  if (options.address != nullptr) settings.host = options.address;
  HR_ASSIGN_OR_RETURN(settings.secret, SecretOr(options.secret));
  return settings;
}

// What is usual, if nothing better can be read.
void Calibrate(session::Env& env, const char* given, comm::GroupOptions& out) {
  out.calibration_place = given != nullptr ? given : comm::CalibrationPath(ProcessEnvironment);
  if (out.calibration_place.empty()) return;
  Result<comm::Calibration> read = comm::ReadCalibration(out.calibration_place);
  if (read.ok()) {
    out.calibration = *read;
    return;
  }
  // Nobody need have measured, unless the host says where.
  if (read.status().code() == Code::kNotFound && given == nullptr) return;
  out.calibration_trouble =
      Cat("the calibration '", out.calibration_place, "' is not used: ", read.status().message(),
          "; write a new one with 'headrace comm calibrate'");
  env.Log(LogLevel::kWarning, out.calibration_trouble);
}

Result<comm::GroupOptions> OptionsFrom(session::Env& env, const hr_group_options& options) {
  if (options.timeout_nanos < -1 || options.silence_nanos < 0) {
    return InvalidArgument(
        "hr_group_options: expected times of 0 or more nanoseconds (-1: no "
        "timeout), got timeout ",
        options.timeout_nanos, ", silence ", options.silence_nanos);
  }
  if (options.silence_nanos > kMostSilence || options.size > kMostRanks) {
    return InvalidArgument("hr_group_options: expected at most ", kMostRanks,
                           " ranks and a silence of a day, got size ", options.size,
                           ", silence_nanos ", options.silence_nanos);
  }
  comm::GroupOptions out;
  out.mesh.name = options.name != nullptr ? options.name : "world";
  out.mesh.rank = options.rank;
  out.mesh.size = options.size;
  out.mesh.epoch = options.epoch;
  out.mesh.clock = &env.clock();
  out.mesh.timeout_nanos = options.timeout_nanos != 0 ? options.timeout_nanos : kDefaultTimeout;
  out.mesh.silence_nanos = options.silence_nanos != 0 ? options.silence_nanos : kDefaultSilence;
  out.mesh.dump_folder = GivenOr(options.dump_folder, "HEADRACE_DUMP_FOLDER", "");
  out.mesh.log = env.comm().log();
  out.allocator = &env.allocator();
  out.planner = env.comm().planner();
  if (out.planner == nullptr) return Unimplemented("this build has no transports");
  Calibrate(env, options.calibration, out);
  if (options.algorithms != nullptr) {
    HR_ASSIGN_OR_RETURN(out.algorithms, ParsePins(options.algorithms));
  }
  return out;
}

// With the store and the transports; `joins`: whoever that is keeps no store.
Result<comm::GroupOptions> Prepare(const std::shared_ptr<session::Env>& env,
                                   hr_group_options options, bool joins) {
  if (options.store != nullptr && options.store_url != nullptr) {
    return InvalidArgument("hr_group_options has both a store and a store_url; leave one NULL");
  }
  HR_ASSIGN_OR_RETURN(const std::string url, ResolveLaunch(options));
  if (joins && (url.starts_with("memory:") && options.store == nullptr)) {
    return InvalidArgument(
        "to join a group needs its store; set HEADRACE_STORE (tcp:HOST:PORT or file:FOLDER), or "
        "give a store");
  }
  HR_ASSIGN_OR_RETURN(comm::GroupOptions inner, OptionsFrom(*env, options));
  HR_ASSIGN_OR_RETURN(
      const comm::TransportSettings settings,
      SettingsFrom(options, options.store != nullptr ? options.store->rep->Url() : url));
  auto keeps = std::make_shared<Keeps>();
  keeps->env = env;
  if (options.store != nullptr) {
    keeps->store = options.store->rep;
  } else {
    const comm::StoreSettings store = {.serve = options.rank == 0 && !joins,
                                       .secret = settings.secret,
                                       .trusted_fabric = settings.trusted_fabric};
    HR_ASSIGN_OR_RETURN(keeps->store, env->comm().OpenGroupStore(url, store));
  }
  const char* transport = GivenOr(options.transport, "HEADRACE_TRANSPORT", "auto");
  HR_ASSIGN_OR_RETURN(inner.mesh.transports, env->comm().Transports(transport, settings));
  inner.mesh.store = keeps->store.get();
  inner.mesh.keeps = std::move(keeps);
  HR_ASSIGN_OR_RETURN(inner.mesh.poller, env->comm().poller());
  return inner;
}

Result<std::shared_ptr<comm::Group>> CreateGroup(const std::shared_ptr<session::Env>& env,
                                                 const hr_group_options* given,
                                                 const hr_limits* given_limits, bool joins) {
  HR_ASSIGN_OR_RETURN(hr_group_options options, CopySized(given, "hr_group_options"));
  if (joins) options.size = 0;
  cluster::Launch launch;
  if (options.size == 0) {
    HR_ASSIGN_OR_RETURN(launch, cluster::LaunchFromEnvironment(ProcessEnvironment));
  }
  HR_ASSIGN_OR_RETURN(comm::GroupOptions inner, Prepare(env, options, joins || launch.joins));
  HR_ASSIGN_OR_RETURN(auto limits, CommLimits(given_limits, inner.mesh));
  if (!launch.losses.empty() && (launch.joins || !joins)) {
    inner.mesh.losses_file = launch.losses;
    return comm::CreateOrJoin(std::move(inner), launch.joins, limits);
  }
  joins |= launch.joins;
  return joins ? comm::Join(std::move(inner), limits)
               : comm::Group::Create(std::move(inner), limits);
}

Result<std::shared_ptr<comm::Group>> SplitGroup(comm::Group& group, int32_t color, int32_t key,
                                                const hr_limits* limits) {
  HR_ASSIGN_OR_RETURN(auto inner, CommLimits(limits, group.options()));
  return group.Split(color, key, inner);
}

Result<std::shared_ptr<comm::Group>> ShrinkGroup(comm::Group& group, const hr_limits* limits) {
  HR_ASSIGN_OR_RETURN(auto inner, CommLimits(limits, group.options()));
  return comm::Shrink(group, inner);
}

Result<std::shared_ptr<comm::Group>> GrowGroup(comm::Group& group, int32_t size,
                                               const hr_limits* limits) {
  HR_ASSIGN_OR_RETURN(auto inner, CommLimits(limits, group.options()));
  return comm::Grow(group, size, inner);
}

}  // namespace

const char* ProcessEnvironment(const char* name) { return std::getenv(name); }

Result<std::string> SecretOr(const char* given) {
  if (given != nullptr) return std::string(given);
  return cluster::SecretFromEnvironment(ProcessEnvironment);
}

Result<HostLimits> CommLimits(const hr_limits* limits, const comm::MeshOptions& options) {
  const hr_limits unless_given{.struct_size = sizeof unless_given,
                               .timeout_nanos = options.timeout_nanos};
  return LimitsFrom(limits == nullptr ? &unless_given : limits, *options.clock);
}

}  // namespace hr::capi

extern "C" {

hr_status* hr_group_create(hr_env* env, const hr_group_options* options, const hr_limits* limits,
                           hr_group** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::CreateGroup(env->rep, options, limits, false));
}

hr_status* hr_group_join(hr_env* env, const hr_group_options* options, const hr_limits* limits,
                         hr_group** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::CreateGroup(env->rep, options, limits, true));
}

hr_status* hr_group_shrink(hr_group* group, const hr_limits* limits, hr_group** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::ShrinkGroup(*group->rep, limits));
}

hr_status* hr_group_grow(hr_group* group, int32_t new_size, const hr_limits* limits,
                         hr_group** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::GrowGroup(*group->rep, new_size, limits));
}

hr_status* hr_group_waiting(hr_group* group, const hr_limits* limits, int32_t* out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::CommLimits(limits, group->rep->options()));
  HR_ASSIGN_OR_WRAP(*out, hr::comm::Waiting(*group->rep, inner));
  return nullptr;
}

void hr_group_release(hr_group* group) { delete group; }

void hr_group_close(hr_group* group) {
  if (group != nullptr) group->rep->Close();
}

hr_status* hr_group_abort(hr_group* group, const char* cause) {
  HR_REQUIRE(group);
  HR_REQUIRE(cause);
  group->rep->Abort(cause);
  return nullptr;
}

int32_t hr_group_rank(const hr_group* group) { return group == nullptr ? -1 : group->rep->rank(); }
int32_t hr_group_size(const hr_group* group) { return group == nullptr ? 0 : group->rep->size(); }
uint64_t hr_group_epoch(const hr_group* group) {
  return group == nullptr ? 0 : group->rep->epoch();
}

hr_status* hr_group_status(hr_group* group) {
  HR_REQUIRE(group);
  return hr::capi::Wrap(group->rep->status());
}

hr_status* hr_group_describe(hr_group* group, hr_text** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, group->rep->Describe());
}

hr_status* hr_group_dump(hr_group* group, hr_text** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, group->rep->Dump());
}

hr_status* hr_dump_read(const char* path, hr_text** out) {
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(std::string text, hr::comm::ReadFlightLog(path));
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_group_split(hr_group* group, int32_t color, int32_t key, const hr_limits* limits,
                          hr_group** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto part, hr::capi::SplitGroup(*group->rep, color, key, limits));
  *out = part == nullptr ? nullptr : new hr_group{std::move(part)};
  return nullptr;
}

}  // extern "C"
