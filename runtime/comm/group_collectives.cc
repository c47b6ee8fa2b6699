#include "runtime/comm/group_collectives.h"

namespace hr::comm {
namespace {

class GroupCollectives final : public Collectives {
 public:
  explicit GroupCollectives(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  Result<Ticket> Post(const Operation& operation, Memory input, Memory output, Stream* stream,
                      Driver driver) override {
    if (input.device != DeviceId() || output.device != DeviceId() || stream != nullptr) {
      const DeviceId device = input.device != DeviceId() ? input.device : output.device;
      return Unimplemented(operation.Text(), ": the group reaches memory of the host, not that of ",
                           DeviceName(device), "; load a plugin that has groups for it");
    }
    HR_ASSIGN_OR_RETURN(
        WorkRef work, group_->Post(operation, input.data, output.data, driver == Driver::kCaller));
    return Ticket{.work = work.Release()};
  }
  bool Test(Ticket& ticket) override { return static_cast<Work*>(ticket.work)->Test(); }
  Status Complete(Ticket ticket, const CallLimits& limits) override {
    const WorkRef work = WorkRef::Adopt(static_cast<Work*>(ticket.work));
    const int64_t begin = work->done() ? 0 : SystemClock().NowNanos();
    Status status = work->Complete(limits.clock == nullptr ? WithTimeout(limits) : limits);
    if (begin != 0) waited_nanos_ += SystemClock().NowNanos() - begin;
    return status;
  }
  int64_t waited_nanos() const override { return waited_nanos_; }
  void Abort(std::string cause) override { group_->Abort(std::move(cause)); }
  Status status() const override { return group_->status(); }

 private:
  // Nobody waits for a peer for ever: limits without a deadline get the group's.
  CallLimits WithTimeout(CallLimits limits) const {
    const MeshOptions& options = group_->options();
    if (options.timeout_nanos < 0) return limits;
    limits.clock = options.clock;
    limits.deadline_nanos = options.clock->NowNanos() + options.timeout_nanos;
    return limits;
  }

  const std::shared_ptr<Group> group_;
  int64_t waited_nanos_ = 0;
};

}  // namespace

std::shared_ptr<Collectives> CollectivesOf(std::shared_ptr<Group> group) {
  return std::make_shared<GroupCollectives>(std::move(group));
}

}  // namespace hr::comm
