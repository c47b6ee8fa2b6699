#include "runtime/cluster/launch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/base/json_writer.h"

namespace hr::cluster {
namespace {

enum Field { kRank, kSize, kLocalRank, kLocalSize, kEpoch, kFields };
constexpr std::string_view kFieldNames[] = {"rank", "size", "local rank", "local size", "epoch"};

// The variables of those who start processes, by field; null if they have none.
struct Launcher {
  const char* variables[kFields];
  // Only if this one is set, too.
  const char* condition;
};
constexpr Launcher kLaunchers[] = {
    {{"HEADRACE_RANK", "HEADRACE_SIZE", "HEADRACE_LOCAL_RANK", "HEADRACE_LOCAL_SIZE",
      "HEADRACE_EPOCH"},
     nullptr},
    {{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"},
     nullptr},
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
     nullptr},
    {{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr}, nullptr},
};
// srun's. Processes that another launcher starts in a Slurm job have these of the launcher itself,
// and so has the batch script, which is in no step.
constexpr Launcher kSlurm = {
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_RESTART_COUNT"},
    "SLURM_STEP_ID"};

std::string_view Get(const Environment& environment, const char* name) {
  const char* value = name == nullptr ? nullptr : environment(name);
  return value == nullptr ? std::string_view() : value;
}

Result<int64_t> Number(std::string_view variable, std::string_view text, int64_t least) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least ||
      number > INT32_MAX) {
    return InvalidArgument(variable, ": expected a number of at least ", least, ", got '", text,
                           "'");
  }
  return number;
}

// Collects what the variables say.
class Resolver {
 public:
  explicit Resolver(const Environment& environment) : environment_(environment) {}

  Status Read(const Launcher& launcher) {
    if (launcher.condition != nullptr && Get(environment_, launcher.condition).empty()) return {};
    for (int field = 0; field < kFields; ++field) {
      const char* variable = launcher.variables[field];
      const std::string_view text = Get(environment_, variable);
      if (text.empty()) continue;
      const bool counts = field == kSize || field == kLocalSize;
      HR_ASSIGN_OR_RETURN(const int64_t number, Number(variable, text, counts ? 1 : 0));
      HR_RETURN_IF_ERROR(Note(static_cast<Field>(field), variable, number));
    }
    return {};
  }
  bool knows(Field field) const { return said_[field].has_value(); }
  std::string_view variable(Field field) const { return said_[field]->variable; }
  int64_t Or(Field field, int64_t otherwise) const {
    return knows(field) ? said_[field]->number : otherwise;
  }

 private:
  struct Said {
    int64_t number;
    std::string_view variable;
  };
  Status Note(Field field, std::string_view variable, int64_t number) {
    std::optional<Said>& said = said_[field];
    if (said.has_value() && said->number != number) {
      return FailedPrecondition("the environment contradicts itself about the ", kFieldNames[field],
                                ": ", said->variable, " says ", said->number, ", ", variable,
                                " says ", number, "; unset what does not apply to this process");
    }
    if (!said.has_value()) said = {number, variable};
    return {};
  }

  const Environment& environment_;
  std::optional<Said> said_[kFields];
};

Status CheckComplete(const Resolver& said, const Launch& launch) {
  if (said.knows(kRank) != said.knows(kSize)) {
    const Field known = said.knows(kRank) ? kRank : kSize;
    return FailedPrecondition("the environment sets the ", kFieldNames[known], " (",
                              said.variable(known), ") but not the ",
                              kFieldNames[known == kRank ? kSize : kRank],
                              "; set HEADRACE_RANK and HEADRACE_SIZE, or neither");
  }
  if (launch.rank >= launch.size) {
    return FailedPrecondition("the environment contradicts itself: rank ", launch.rank, " (",
                              said.variable(kRank), ") of ", launch.size, " (",
                              said.variable(kSize), ")");
  }
  const bool local = said.knows(kLocalRank) && said.knows(kLocalSize);
  if (local && launch.local_rank >= launch.local_size) {
    return FailedPrecondition("the environment contradicts itself: local rank ", launch.local_rank,
                              " (", said.variable(kLocalRank), ") of ", launch.local_size, " (",
                              said.variable(kLocalSize), ")");
  }
  return {};
}

// Where the ranks meet, and the variable that says so.
Status FindStore(const Environment& environment, Launch& launch) {
  auto found = [&](std::string store, std::string variable) {
    launch.sources.push_back({"store", std::move(variable), store});
    launch.store = std::move(store);
    return Status();
  };
  if (const std::string_view url = Get(environment, "HEADRACE_STORE"); !url.empty()) {
    return found(std::string(url), "HEADRACE_STORE");
  }
  const std::string_view host = Get(environment, "MASTER_ADDR");
  const std::string_view port = Get(environment, "MASTER_PORT");
  if (!host.empty() && !port.empty()) {
    HR_RETURN_IF_ERROR(Number("MASTER_PORT", port, 1).status().Clone());
    const bool v6 = host.find(':') != host.npos && !host.starts_with('[');
    return found(Cat("tcp:", v6 ? "[" : "", host, v6 ? "]:" : ":", port), "MASTER_ADDR");
  }
  if (launch.size == 1) {
    launch.store = "memory:";
    return {};
  }
  // On one host, the folder that mpirun makes for the job and removes at its end.
  const std::string_view folder = Get(environment, "OMPI_FILE_LOCATION");
  if (!folder.empty() && launch.local_size == launch.size) {
    return found(Cat("file:", folder, "/headrace"), "OMPI_FILE_LOCATION");
  }
  return {};
}

// "MIN:MAX", and whether this process comes later.
Status ReadElastic(const Environment& environment, Launch& launch) {
  constexpr std::string_view kElastic = "HEADRACE_ELASTIC", kJoin = "HEADRACE_JOIN";
  if (const std::string_view text = Get(environment, kElastic.data()); !text.empty()) {
    const size_t colon = std::min(text.find(':'), text.size());
    HR_ASSIGN_OR_RETURN(const int64_t least, Number(kElastic, text.substr(0, colon), 1));
    HR_ASSIGN_OR_RETURN(const int64_t most,
                        Number(kElastic, text.substr(std::min(colon + 1, text.size())), least));
    launch.min_ranks = static_cast<int>(least);
    launch.max_ranks = static_cast<int>(most);
    launch.sources.push_back({"elastic", std::string(kElastic), std::string(text)});
  }
  constexpr std::string_view kLosses = "HEADRACE_LOSSES";
  if (const std::string_view path = Get(environment, kLosses.data()); !path.empty()) {
    launch.losses = path;
    launch.sources.push_back({"losses", std::string(kLosses), launch.losses});
  }
  const std::string_view joins = Get(environment, kJoin.data());
  if (joins.empty() || joins == "0") return {};
  if (joins != "1") return InvalidArgument(kJoin, ": expected 0 or 1, got '", joins, "'");
  launch.joins = true;
  launch.sources.push_back({"join", std::string(kJoin), "1"});
  return {};
}

}  // namespace

Result<std::string> SecretFromEnvironment(const Environment& environment) {
  constexpr size_t kMostBytes = 4096;
  std::string secret(Get(environment, "HEADRACE_SECRET"));
  const std::string_view file = Get(environment, "HEADRACE_SECRET_FILE");
  if (file.empty()) return secret;
  if (!secret.empty()) {
    return FailedPrecondition(
        "HEADRACE_SECRET and HEADRACE_SECRET_FILE are both set; unset one of them");
  }
  Result<std::string> text = ReadFile(std::string(file), kMostBytes);
  if (!text.ok()) return std::move(text).status().WithContext("HEADRACE_SECRET_FILE");
  secret = text->substr(0, text->find_first_of("\r\n"));
  if (secret.empty()) return InvalidArgument("HEADRACE_SECRET_FILE: ", file, " has no first line");
  return secret;
}

Result<Launch> LaunchFromEnvironment(const Environment& environment) {
  Resolver said(environment);
  for (const Launcher& launcher : kLaunchers) HR_RETURN_IF_ERROR(said.Read(launcher));
  if (!said.knows(kRank) && !said.knows(kSize)) HR_RETURN_IF_ERROR(said.Read(kSlurm));
  Launch launch;
  launch.rank = static_cast<int>(said.Or(kRank, 0));
  launch.size = static_cast<int>(said.Or(kSize, 1));
  launch.local_rank = static_cast<int>(said.Or(kLocalRank, -1));
  launch.local_size = static_cast<int>(said.Or(kLocalSize, 0));
  launch.epoch = static_cast<uint64_t>(said.Or(kEpoch, 0));
  HR_RETURN_IF_ERROR(CheckComplete(said, launch));
  for (int i = 0; i < kFields; ++i) {
    const Field field = static_cast<Field>(i);
    if (!said.knows(field)) continue;
    launch.sources.push_back({std::string(kFieldNames[field]), std::string(said.variable(field)),
                              Cat(said.Or(field, 0))});
  }
  HR_RETURN_IF_ERROR(FindStore(environment, launch));
  HR_RETURN_IF_ERROR(ReadElastic(environment, launch));
  return launch;
}

std::string Launch::Json() const {
  JsonWriter json;
  json.BeginObject().Field("rank", rank).Field("size", size);
  json.Field("local_rank", local_rank).Field("local_size", local_size);
  json.Field("epoch", epoch).Field("store", store);
  json.Field("min_ranks", min_ranks).Field("max_ranks", max_ranks).Field("joins", joins);
  json.Field("losses", losses);
  json.Key("sources").BeginArray();
  for (const Source& source : sources) {
    json.BeginObject().Field("field", source.field).Field("variable", source.variable);
    json.Field("value", source.value).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace hr::cluster
