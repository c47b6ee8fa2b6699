#include "runtime/comm/group.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

#include "runtime/base/crc32c.h"
#include "runtime/base/file.h"
#include "runtime/base/host.h"
#include "runtime/base/json_writer.h"
#include "runtime/comm/membership.h"

namespace hr::comm {
namespace {

constexpr size_t kMaxPlanned = 64;
// Messages that are worth a try without a work: a larger one rather finds its receive posted.
constexpr uint64_t kShortBytes = 4096;
// Of a rank's ring in shared memory, and of all of them. See SharedArea.
constexpr uint64_t kRingBytes = 2 << 20;
constexpr uint64_t kAllRingsBytes = 16 << 20;
// What each wait for another rank takes if they share processors: it has to be woken.
constexpr double kWakeSeconds = 15e-6;
// How long a peer that runs usually takes to answer, several times over.
constexpr int64_t kSpinNanos = 50'000;
// Channels are 16 bits of a tag, and the last one is the mesh's own.
constexpr int kMaxChannel = 0xfffe;

bool SamePlan(const Operation& a, const Operation& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.count == b.count &&
         a.reduce_op == b.reduce_op && a.peer == b.peer && a.run == b.run;
}

// What ranks tell each other first.
struct Introduction {
  uint32_t host, settings;  // hashes
  int32_t first_near;       // the first rank with which it can share memory, or itself
  // Its slowest transports to those, and to the others; empty if there are none.
  char near[8], far[8];
  ProcessorSet processors;
  Calibration calibration;
};

std::string_view NameIn(const char (&text)[8]) { return {text, strnlen(text, sizeof text)}; }

// Keeps the slower one.
void NoteTransport(const Calibration& calibration, std::string_view name, char (&slowest)[8]) {
  if (name.empty()) return;
  const std::string_view known = NameIn(slowest);
  if (!known.empty() && calibration.Of(known).latency >= calibration.Of(name).latency) return;
  std::memset(slowest, 0, sizeof slowest);
  name.copy(slowest, sizeof slowest);
}

// Whether more ranks run on a host than it has processors for.
bool IsCrowded(const std::vector<Introduction>& all, uint32_t host) {
  int ranks = 0;
  ProcessorSet processors{};
  for (const Introduction& one : all) {
    if (one.host != host) continue;
    ++ranks;
    for (size_t i = 0; i < processors.size(); ++i) processors[i] |= one.processors[i];
  }
  return ranks > CountProcessors(processors);
}

// Notices a second thread.
class PostingScope {
 public:
  explicit PostingScope(std::atomic<bool>& posting)
      : posting_(posting), alone_(!posting.exchange(true, std::memory_order_acquire)) {}
  ~PostingScope() {
    if (alone_) posting_.store(false, std::memory_order_release);
  }
  bool alone() const { return alone_; }

 private:
  std::atomic<bool>& posting_;
  const bool alone_;
};

Status CheckPins(const GroupOptions& options) {
  for (const auto& [kind, name] : options.algorithms) {
    const auto known = options.planner->Algorithms(kind);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidArgument(OpKindName(kind), " has no algorithm '", name,
                             "'; it has: ", hr::Join(known));
    }
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Group>> Group::Create(GroupOptions options, const CallLimits& limits) {
  if (options.planner == nullptr) return InvalidArgument("a group needs a planner");
  if (options.allocator == nullptr) options.allocator = &SystemAllocator();
  HR_RETURN_IF_ERROR(CheckPins(options));
  HR_ASSIGN_OR_RETURN(const std::string boot, BootId());
  // Unless the caller has done so.
  if (!options.mesh.agreed && options.mesh.store != nullptr && options.mesh.job.empty()) {
    HR_RETURN_IF_ERROR(EnterEpoch(options.mesh, limits));
  }
  HR_ASSIGN_OR_RETURN(auto mesh, Mesh::Form(options.mesh, limits));
  auto shared = std::make_shared<Shared>(std::move(options));
  shared->mesh = std::move(mesh);
  const int rank = shared->options.mesh.rank;
  std::vector<int> ranks(shared->options.mesh.size);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shared_ptr<Group> group(new Group(std::move(shared), std::move(ranks), rank, 0));
  HR_RETURN_IF_ERROR(group->Agree(boot, limits));
  // Before any rank returns, since each needs rank 0 for what follows. A group that works is not
  // given up because its store cannot be told (out of descriptors, say): at worst its epoch can be
  // entered again. That must not be so where others may have begun to meet anew.
  if (rank == 0 && !group->options().agreed) {
    const Status noted = NoteFormed(group->options(), limits);
    if (!group->options().losses_file.empty()) HR_RETURN_IF_ERROR(noted.Clone());
  }
  group->Price();
  HR_RETURN_IF_ERROR(group->ShareMemory(limits));
  HR_RETURN_IF_ERROR(group->Settle());
  return group;
}

Result<std::optional<Verdict>> Group::VerdictOfAll(const CallLimits& limits) {
  std::optional<Verdict> known = mesh_.verdict();
  // Else the arbiter has decided it.
  if (!known.has_value() || status().code() != Code::kArbiterLost) return known;
  const auto arbiter = CreateStoreArbiter(*options().store, EpochKey(options(), kVerdictKey));
  HR_ASSIGN_OR_RETURN(known, arbiter->Decide(*known, limits));
  return known;
}

// Pins hold from now on. That an algorithm is known does not say that this group can run it; a
// sub-group takes the cheapest then.
Status Group::Settle() {
  const GroupOptions& options = shared_->options;
  for (const auto& [kind, name] : options.algorithms) {
    const Operation any = {.kind = kind, .count = 1};
    const auto estimates = options.planner->Estimates(any, size(), cost_);
    const bool holds =
        std::any_of(estimates.begin(), estimates.end(),
                    [&name = name](const Estimate& one) { return one.algorithm == name; });
    if (holds) pins_[kind] = name;
    if (holds || !whole()) continue;
    return FailedPrecondition("group '", options.mesh.name, "' cannot run ", OpKindName(kind), "=",
                              name, ", because its ranks ", options.planner->WhyNot(kind, name),
                              "; pin another algorithm, or none");
  }
  planned_.clear();
  next_planned_ = 0;
  return {};
}

// The first operation: no rank leaves while another is still connecting, all choose algorithms
// alike, and each learns which ranks there are on its host.
Status Group::Agree(std::string_view boot, const CallLimits& limits) {
  const GroupOptions& options = shared_->options;
  std::string settings;
  for (auto& [kind, name] : options.algorithms) settings += Cat(OpKindName(kind), name);
  Introduction mine = {.host = Crc32c(AsBytes(boot)),
                       .settings = Crc32c(AsBytes(settings)),
                       .first_near = rank_,
                       .near = "",
                       .far = "",
                       .processors = AvailableProcessorSet(),
                       .calibration = options.calibration};
  for (int rank = size() - 1; rank >= 0; --rank) {
    if (rank == rank_) continue;
    const bool near = mesh_.SharerOf({rank}) != nullptr;
    if (near) mine.first_near = std::min(mine.first_near, rank);
    NoteTransport(options.calibration, mesh_.TransportOf(rank), near ? mine.near : mine.far);
  }
  std::vector<Introduction> all(pool_->ranks().size());
  HR_RETURN_IF_ERROR(
      Run({.kind = OpKind::kAllGather, .count = sizeof mine}, &mine, all.data(), limits));
  Shared& agreed = *shared_;
  agreed.calibration = all[0].calibration;
  std::map<uint32_t, bool> crowded;  // by host
  for (int rank = 0; rank < size(); ++rank) {
    if (all[rank].settings != all[0].settings) {
      mesh_.Abort(Code::kFailedPrecondition, Cat("ranks 0 and ", rank, " pin different algorithms"),
                  rank);
      for (;;) HR_RETURN_IF_ERROR(Run({}, nullptr, nullptr, limits));  // until the verdict comes
    }
    const Introduction& one = all[rank];
    if (!crowded.contains(one.host)) crowded[one.host] = IsCrowded(all, one.host);
    agreed.crowded |= crowded[one.host];
    agreed.hosts.push_back(one.first_near);
    NoteTransport(agreed.calibration, NameIn(one.near), mine.near);
    NoteTransport(agreed.calibration, NameIn(one.far), mine.far);
  }
  const std::string_view near = NameIn(mine.near), far = NameIn(mine.far);
  agreed.near = agreed.calibration.Of(near.empty() ? far : near);
  agreed.far = agreed.calibration.Of(far.empty() ? near : far);
  int64_t spin = options.mesh.spin_nanos;
  if (spin < 0) spin = crowded[mine.host] ? 0 : kSpinNanos;
  mesh_.reactor().set_spin_nanos(spin);
  return {};
}

// From what was agreed: the same on all ranks.
void Group::Price() {
  const Shared& agreed = *shared_;
  std::vector<int> hosts;
  for (int rank : pool_->ranks()) hosts.push_back(agreed.hosts[rank]);
  const std::set<int> different(hosts.begin(), hosts.end());
  const bool apart = different.size() > 1;
  const LinkCost& link = apart ? agreed.far : agreed.near;
  if (apart && different.size() < hosts.size()) cost_.hosts = std::move(hosts);
  const double wake = agreed.crowded ? kWakeSeconds : 0;
  cost_.latency = link.latency + wake;
  cost_.per_byte = link.per_byte;
  cost_.near_latency = agreed.near.latency + wake;
  cost_.near_per_byte = agreed.near.per_byte;
  cost_.per_reduced_byte = agreed.calibration.per_reduced_byte;
  cost_.shared_latency = agreed.calibration.shared.latency + wake;
  cost_.shared_per_byte = agreed.calibration.shared.per_byte;
}

// If all ranks can map one piece of memory, they share it; if one cannot, no rank uses it.
Status Group::ShareMemory(const CallLimits& limits) {
  if (size() == 1) return {};
  const auto ranks = static_cast<uint64_t>(size());
  const uint64_t ring = std::min(kRingBytes, std::bit_floor(kAllRingsBytes / ranks));
  const size_t bytes = SharedArea::Bytes(size(), ring);
  MemorySharer* sharer = mesh_.SharerOf(pool_->ranks());
  struct Offer {
    int32_t able;
    char ticket[MemorySharer::kMaxTicket];
  };
  Offer mine = {.able = sharer != nullptr, .ticket = ""};
  Result<std::unique_ptr<SharedBlock>> block = std::unique_ptr<SharedBlock>();
  if (sharer != nullptr && rank_ == 0) {
    std::string ticket;
    block = sharer->Create(bytes, &ticket);
    mine.able = block.ok() && ticket.size() <= sizeof mine.ticket;
    if (mine.able) std::copy(ticket.begin(), ticket.end(), mine.ticket);
  }
  std::vector<Offer> offers(ranks);
  const Operation gather = {.kind = OpKind::kAllGather, .count = sizeof mine};
  HR_RETURN_IF_ERROR(Run(gather, &mine, offers.data(), limits));
  for (const Offer& offer : offers) {
    if (!offer.able) return {};
  }
  if (rank_ != 0) {
    const char* ticket = offers[0].ticket;
    block = sharer->Open({ticket, strnlen(ticket, sizeof mine.ticket)}, bytes);
  }
  int32_t failures = block.ok() ? 0 : 1;
  const Operation sum = {.kind = OpKind::kAllReduce, .dtype = DType::kInt32, .count = 1};
  HR_RETURN_IF_ERROR(Run(sum, &failures, &failures, limits));
  if (failures > 0) return {};
  pool_->set_shared(std::make_unique<SharedArea>(std::move(block).value(), rank_, size(), ring));
  cost_.shared_bytes = ring;
  return {};
}

Group::Group(std::shared_ptr<Shared> shared, std::vector<int> ranks, int rank, uint16_t channel)
    : shared_(std::move(shared)),
      mesh_(*shared_->mesh),
      pool_(std::make_shared<WorkPool>(shared_->mesh, std::move(ranks))),
      rank_(rank),
      channel_(channel) {}

Group::~Group() = default;

// The pinned algorithm; empty if the cheapest is taken.
std::string_view Group::PinOf(OpKind kind) const {
  const auto found = pins_.find(kind);
  return found == pins_.end() ? std::string_view() : found->second;
}

inline const Group::Planned* Group::FindPlan(const Operation& operation) const {
  for (const Planned& planned : planned_) {
    if (SamePlan(planned.operation, operation)) return &planned;
  }
  return nullptr;
}

// What was planned before has been checked.
Result<const Group::Planned*> Group::PlanFor(const Operation& operation) {
  if (const Planned* known = FindPlan(operation)) return known;
  HR_RETURN_IF_ERROR(operation.Check(rank_, size()));
  const GroupOptions& options = shared_->options;
  HR_ASSIGN_OR_RETURN(
      Schedule made, options.planner->Plan(operation, rank_, size(), cost_, PinOf(operation.kind)));
  const Reactor::Guard lock(mesh_.reactor());  // see PassShort
  if (planned_.size() < kMaxPlanned) planned_.emplace_back();
  Planned& planned = planned_[next_planned_++ % kMaxPlanned];
  const int peer = operation.point_to_point() ? pool_->ranks()[operation.peer] : 0;
  planned = {operation, std::make_shared<const Schedule>(std::move(made)), operation.Label(epoch()),
             operation.bytes(), peer};
  return &planned;
}

// Messages meet by channel and sequence, those of send and recv by channel and the caller's tag.
uint64_t Group::NextTag(const Operation& operation) {
  const uint64_t channel = static_cast<uint64_t>(channel_) << 48;
  if (operation.point_to_point()) return channel | Work::kPointToPoint | operation.tag;
  return channel | (sequence_++ & (Work::kPointToPoint - 1));
}

Status Group::Prepare(Work& work, const Operation& operation, const void* input, void* output) {
  HR_ASSIGN_OR_RETURN(const Planned* plan, PlanFor(operation));
  HR_RETURN_IF_ERROR(operation.CheckBuffers(rank_, size(), input, output));
  if (work.schedule_ != plan->schedule) work.schedule_ = plan->schedule;
  work.operation_ = operation;
  HR_RETURN_IF_ERROR(work.Prepare(*shared_->options.allocator, input, output));
  work.channel_ = channel_;
  work.tag_ = NextTag(operation);
  work.label_ = plan->label;
  if (work.schedule_->raises > 0) work.turn_ = shared_turns_++;
  return {};
}

Status Group::ConcurrentPosting(const Operation& operation) {
  return FailedPrecondition(operation.Text(),
                            ": another thread is posting to this group; split off a sub-group for "
                            "each thread");
}

Result<WorkRef> Group::Post(const Operation& operation, const void* input, void* output,
                            bool attended) {
  PostingScope scope(posting_);
  if (!scope.alone()) return ConcurrentPosting(operation);
  WorkRef work = pool_->Take();
  HR_RETURN_IF_ERROR(Prepare(*work, operation, input, output));
  if (attended) mesh_.reactor().Visit();
  HR_RETURN_IF_ERROR(mesh_.Start(work, attended));
  return work;
}

Result<WorkRef> Group::PostAndPoll(const Operation& operation, const void* input, void* output) {
  HR_ASSIGN_OR_RETURN(WorkRef work, PostResident(operation, input, output));
  if (!work->done()) work->Poll();
  return work;
}

// Operations that are not planned yet, and invalid ones, are left to the long path, which plans and
// checks them. The plan is looked up under the mesh's lock, so that this needs no lock of its own.
bool Group::PassShort(const Operation& operation, const void* input, void* output) {
  if (!operation.point_to_point() || operation.count > kShortBytes) return false;
  const bool sends = operation.kind == OpKind::kSend;
  if ((sends ? input : output) == nullptr) return false;
  ShortMessage message = {.operation = operation, .channel = channel_, .tag = NextTag(operation)};
  const auto known = [&] {
    const Planned* plan = FindPlan(operation);
    if (plan == nullptr || plan->bytes > kShortBytes) return false;
    message.rank = plan->peer;
    message.label = plan->label;
    message.bytes = plan->bytes;
    return true;
  };
  if (sends) {
    return mesh_.SendNow(
        message, [&] { return !posting_.load(std::memory_order_relaxed) && known(); }, input);
  }
  {
    PostingScope scope(posting_);
    if (!scope.alone() || !known()) return false;
  }
  return mesh_.RecvNow(message, output);
}

Result<WorkRef> Group::PostResident(const Operation& operation, const void* input, void* output) {
  PostingScope scope(posting_);
  if (!scope.alone()) return ConcurrentPosting(operation);
  if (!pool_->Renew(resident_)) resident_ = pool_->Take();
  HR_RETURN_IF_ERROR(Prepare(*resident_, operation, input, output));
  HR_RETURN_IF_ERROR(mesh_.Start(resident_, true));
  return resident_.Share();
}

Status Group::Run(const Operation& operation, const void* input, void* output,
                  const CallLimits& limits) {
  if (PassShort(operation, input, output)) return {};
  HR_ASSIGN_OR_RETURN(WorkRef work, PostAndPoll(operation, input, output));
  return work->Complete(limits);
}

// The same number on all ranks, that no other group of theirs has. Other sub-groups may be split at
// the same time, by other threads. Groups of one split have no rank in common, so they share it.
Result<int32_t> Group::TakeChannel(const CallLimits& limits) {
  std::atomic<int32_t>& last = shared_->last_channel;
  for (;;) {
    const int32_t own = ++last;
    int32_t channel = 0, got = 0;
    HR_RETURN_IF_ERROR(Run({.kind = OpKind::kAllReduce,
                            .dtype = DType::kInt32,
                            .count = 1,
                            .reduce_op = ReduceOp::kMax},
                           &own, &channel, limits));
    if (channel > kMaxChannel) {
      return ResourceExhausted("a group can be split ", kMaxChannel, " times; create a new group");
    }
    int32_t before = last.load();
    while (before < channel && !last.compare_exchange_weak(before, channel)) {
    }
    const int32_t free = channel == own || before < channel;
    HR_RETURN_IF_ERROR(Run({.kind = OpKind::kAllReduce,
                            .dtype = DType::kInt32,
                            .count = 1,
                            .reduce_op = ReduceOp::kMin},
                           &free, &got, limits));
    if (got != 0) return channel;
  }
}

Result<std::shared_ptr<Group>> Group::Split(int color, int key, const CallLimits& limits) {
  const int32_t mine[2] = {color, key};
  std::vector<int32_t> all(2 * pool_->ranks().size());
  HR_RETURN_IF_ERROR(Run({.kind = OpKind::kAllGather, .dtype = DType::kInt32, .count = 2}, mine,
                         all.data(), limits));
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    if (color >= 0 && all[2 * rank] == color) members.push_back(rank);
  }
  HR_ASSIGN_OR_RETURN(const int32_t channel, TakeChannel(limits));
  if (members.empty()) return std::shared_ptr<Group>();
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return all[2 * a + 1] < all[2 * b + 1]; });
  const int rank =
      static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
  for (int& member : members) member = pool_->ranks()[member];
  std::shared_ptr<Group> part(
      new Group(shared_, std::move(members), rank, static_cast<uint16_t>(channel)));
  part->Price();
  HR_RETURN_IF_ERROR(part->ShareMemory(limits));
  HR_RETURN_IF_ERROR(part->Settle());
  return part;
}

Result<std::string> Group::Explain(const Operation& operation) const {
  HR_RETURN_IF_ERROR(operation.Check(rank_, size()));
  const GroupOptions& options = shared_->options;
  const auto estimates = options.planner->Estimates(operation, size(), cost_);
  const std::string_view pin = PinOf(operation.kind);
  JsonWriter json;
  json.BeginObject().Field("operation", operation.Text()).Field("bytes", operation.bytes());
  json.Field("algorithm", pin.empty() ? estimates.front().algorithm : pin);
  json.Field("pinned", !pin.empty()).Key("estimates").BeginArray();
  for (const Estimate& estimate : estimates) {
    json.BeginObject().Field("algorithm", estimate.algorithm);
    json.Field("seconds", estimate.seconds).EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string Group::Describe() const {
  const GroupOptions& options = shared_->options;
  JsonWriter json;
  json.BeginObject().Field("name", options.mesh.name).Field("rank", rank_).Field("size", size());
  json.Field("epoch", epoch())
      .Field("job", options.mesh.job)
      .Field("store", options.mesh.store->Describe());
  json.Key("members").BeginArray();
  for (int rank = 0; rank < size(); ++rank) {
    json.BeginObject().Field("rank", rank).Field("world_rank", pool_->ranks()[rank]);
    json.Field("transport", mesh_.TransportOf(pool_->ranks()[rank])).EndObject();
  }
  json.EndArray().Key("algorithms").BeginObject();
  for (int code = 0; OpKindName(static_cast<OpKind>(code)) != "unknown"; ++code) {
    const auto kind = static_cast<OpKind>(code);
    const std::string_view pin = PinOf(kind);
    json.Key(OpKindName(kind)).BeginObject().Key("known");
    json.Values(std::span<const std::string_view>(options.planner->Algorithms(kind)));
    json.Key("pinned");
    pin.empty() ? json.Null() : json.Value(pin);
    json.EndObject();
  }
  json.EndObject();
  DescribeCost(json);
  json.EndObject();
  return json.Take();
}

void Group::DescribeCost(JsonWriter& json) const {
  const GroupOptions& options = shared_->options;
  json.Key("cost_model").BeginObject();
  json.Field("latency_seconds", cost_.latency);
  json.Field("seconds_per_byte", cost_.per_byte);
  json.Field("near_latency_seconds", cost_.near_latency);
  json.Field("near_seconds_per_byte", cost_.near_per_byte);
  json.Field("hosts", std::set<int>(cost_.hosts.begin(), cost_.hosts.end()).size());
  json.Field("seconds_per_reduced_byte", cost_.per_reduced_byte);
  json.Field("slice_bytes", cost_.slice_bytes).Field("shared_bytes", cost_.shared_bytes);
  json.Field("shared_latency_seconds", cost_.shared_latency);
  json.Field("shared_seconds_per_byte", cost_.shared_per_byte);
  json.Field("crowded", shared_->crowded).EndObject();
  json.Key("calibration").BeginObject();
  const bool measured = shared_->calibration.source == Calibration::Source::kFile;
  json.Field("source", measured ? "file" : "default").Field("machine", HostName());
  json.Field("place", options.calibration_place);
  json.Field("trouble", options.calibration_trouble).EndObject();
}

}  // namespace hr::comm
