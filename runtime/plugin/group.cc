#include "runtime/plugin/group.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/device/backend.h"
#include "runtime/plugin/status.h"

namespace hr::plugin {
namespace {

using comm::Operation;
using comm::OpKind;

// Between two looks at limits and at the ranks.
constexpr int64_t kSliceNanos = 20'000'000;
// To meet, if the caller sets no deadline.
constexpr int64_t kMeetNanos = 60'000'000'000;

hr_plugin_memory PluginMemory(const comm::Memory& memory) {
  return {.data = memory.data,
          .device_type = static_cast<int32_t>(memory.device.type),
          .device_index = memory.device.ordinal,
          .registration = memory.registration};
}

hr_plugin_operation PluginOperation(const Operation& operation, const comm::Memory& input,
                                    const comm::Memory& output, Stream* stream) {
  return {.struct_size = sizeof(hr_plugin_operation),
          .kind = static_cast<hr_operation_kind>(operation.kind),
          .dtype = static_cast<hr_dtype>(operation.dtype),
          .count = operation.count,
          .op = static_cast<hr_reduce_op>(operation.reduce_op),
          .peer = operation.peer,
          .tag = operation.tag,
          .factor = operation.factor,
          .input = PluginMemory(input),
          .output = PluginMemory(output),
          .stream = stream == nullptr ? nullptr : stream->native_handle()};
}

class NativeCollectives final : public comm::Collectives {
 public:
  NativeCollectives(std::shared_ptr<comm::Collectives> group, std::shared_ptr<Plugin> plugin,
                    hr_plugin_group* native, int64_t timeout_nanos)
      : group_(std::move(group)),
        plugin_(std::move(plugin)),
        table_(*plugin_->group()),
        native_(native),
        timeout_nanos_(timeout_nanos) {}
  ~NativeCollectives() override { table_.release(native_); }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  using Collectives::Post;
  Result<Ticket> Post(const Operation& operation, comm::Memory input, comm::Memory output,
                      Stream* stream, Driver driver) override {
    const hr_plugin_operation posted = PluginOperation(operation, input, output, stream);
    if (table_.supports(native_, &posted) == 0) {
      return group_->Post(operation, input, output, stream, driver);
    }
    HR_RETURN_IF_ERROR(group_->status());
    HR_RETURN_IF_ERROR(operation.Check(rank(), size()));
    HR_RETURN_IF_ERROR(operation.CheckBuffers(rank(), size(), input.data, output.data));
    hr_plugin_work* work = nullptr;
    HR_RETURN_IF_ERROR(Told(FromC(table_.post(native_, &posted, &work))));
    return Ticket{.work = work, .native = true};
  }
  bool Test(Ticket& ticket) override {
    return ticket.native ? table_.test(WorkOf(ticket)) != 0 : group_->Test(ticket);
  }
  Status Complete(Ticket ticket, const CallLimits& limits) override {
    if (!ticket.native) return group_->Complete(ticket, limits);
    hr_plugin_work* work = WorkOf(ticket);
    const int64_t begun = SystemClock().NowNanos();
    Status ended = Await(work, limits);
    waited_nanos_ += SystemClock().NowNanos() - begun;
    if (!ended.ok()) {
      // Its memory is free only when the plugin says so.
      table_.abort(native_);
      while (table_.wait(work, kSliceNanos) == 0) {
      }
    }
    Status status = FromC(table_.finish(work));
    return ended.ok() ? Told(std::move(status)) : std::move(ended);
  }
  int64_t waited_nanos() const override { return group_->waited_nanos() + waited_nanos_; }
  void Abort(std::string cause) override {
    group_->Abort(std::move(cause));
    table_.abort(native_);
  }
  Status status() const override { return group_->status(); }

 private:
  static hr_plugin_work* WorkOf(const Ticket& ticket) {
    return static_cast<hr_plugin_work*>(ticket.work);
  }
  // Returns why the operation must be ended, if it does not end by itself.
  Status Await(hr_plugin_work* work, const CallLimits& limits) {
    const Clock& clock = SystemClock();
    const bool bounded = limits.clock == nullptr && timeout_nanos_ >= 0;
    const int64_t until = bounded ? clock.NowNanos() + timeout_nanos_ : INT64_MAX;
    while (table_.wait(work, limits.SleepNanos(kSliceNanos)) == 0) {
      HR_RETURN_IF_ERROR(group_->status());  // a rank has died
      Status status = limits.Check();
      if (status.ok() && clock.NowNanos() >= until) {
        status =
            DeadlineExceeded("the operation did not end in ", timeout_nanos_ / 1'000'000, " ms");
      }
      if (status.ok()) continue;
      group_->Abort(std::string(status.message()));
      return status;
    }
    return {};
  }
  // A failure of one rank is that of all.
  Status Told(Status status) {
    if (!status.ok() && group_->status().ok()) {
      group_->Abort(Cat("plugin '", plugin_->name(), "': ", status.message()));
    }
    return status;
  }

  const std::shared_ptr<comm::Collectives> group_;
  const std::shared_ptr<Plugin> plugin_;
  const hr_plugin_group_table& table_;
  hr_plugin_group* const native_;
  const int64_t timeout_nanos_;
  int64_t waited_nanos_ = 0;
};

// The names of the ranks' native groups; empty: none.
constexpr size_t kNameBytes = 64;
struct Offer {
  char name[kNameBytes] = {};
};

// Whether all ranks have the same native group. Tells why not.
Result<bool> Agree(comm::Collectives& group, const Plugin* plugin, LogSink* log,
                   const CallLimits& limits) {
  Offer mine;
  if (plugin != nullptr) std::strncpy(mine.name, plugin->group()->name, kNameBytes - 1);
  std::vector<Offer> all(static_cast<size_t>(group.size()));
  HR_RETURN_IF_ERROR(
      group.Run({.kind = OpKind::kAllGather, .count = sizeof mine}, &mine, all.data(), limits));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    all[rank].name[kNameBytes - 1] = 0;
    if (std::strcmp(all[rank].name, mine.name) == 0) continue;
    if (log != nullptr) {
      log->Write(LogLevel::kWarning, Cat("the ranks have loaded different plugins, rank ", rank,
                                         " '", all[rank].name, "' and rank ", group.rank(), " '",
                                         mine.name, "', so the group works without them"));
    }
    return false;
  }
  return plugin != nullptr;
}

// Fails on all ranks if it fails on one.
Status AllAre(comm::Collectives& group, const Status& own, const CallLimits& limits) {
  int32_t failures = own.ok() ? 0 : 1;
  const Operation sum = {.kind = OpKind::kAllReduce, .dtype = DType::kInt32, .count = 1};
  HR_RETURN_IF_ERROR(group.Run(sum, &failures, &failures, limits));
  if (!own.ok()) return own.Clone();
  if (failures == 0) return {};
  return Unavailable(failures,
                     " other ranks could not make their native group; their calls say why");
}

}  // namespace

Result<std::shared_ptr<comm::Collectives>> WithNativeGroup(std::shared_ptr<comm::Collectives> group,
                                                           std::shared_ptr<Plugin> plugin,
                                                           int64_t timeout_nanos, LogSink* log,
                                                           const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const bool agreed, Agree(*group, plugin.get(), log, limits));
  if (!agreed) return group;
  const hr_plugin_group_table& table = *plugin->group();
  uint8_t id[HR_PLUGIN_GROUP_ID_BYTES] = {};
  Status status;
  if (group->rank() == 0) status = FromC(table.create_id(plugin->self(), id));
  HR_RETURN_IF_ERROR(AllAre(*group, status, limits));
  HR_RETURN_IF_ERROR(group->Run({.kind = OpKind::kBroadcast, .count = sizeof id}, id, id, limits));
  int64_t patience = kMeetNanos;
  if (limits.clock != nullptr) {
    patience = std::clamp<int64_t>(limits.deadline_nanos - limits.clock->NowNanos(), 0, kMeetNanos);
  }
  hr_plugin_group* native = nullptr;
  status = FromC(table.create(plugin->self(), id, group->rank(), group->size(), patience, &native));
  std::shared_ptr<NativeCollectives> out;
  if (status.ok()) {
    out = std::make_shared<NativeCollectives>(group, std::move(plugin), native, timeout_nanos);
  }
  HR_RETURN_IF_ERROR(AllAre(*group, status, limits));
  return out;
}

}  // namespace hr::plugin
