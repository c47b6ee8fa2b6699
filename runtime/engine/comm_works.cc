#include "runtime/engine/comm_works.h"

#include "runtime/base/errors.h"

namespace hr::engine {

Status CommWorks::Begin(const comm::GroupTable* table, const CallLimits& limits) {
  limits_ = &limits;
  for (size_t i = 0; i < names_.size(); ++i) {
    groups_[i] = table == nullptr ? nullptr : table->Find(names_[i]);
    if (groups_[i] == nullptr) {
      return FailedPrecondition("the graph communicates in the group '", names_[i],
                                "', which the session does not have; bind one with "
                                "hr_session_bind_group");
    }
    HR_RETURN_IF_ERROR(groups_[i]->status());
  }
  return {};
}

Status CommWorks::Start(uint32_t slot, uint32_t group, const comm::Operation& operation,
                        const void* input, void* output, comm::Collectives::Driver driver) {
  comm::Collectives& collectives = *groups_[group];
  HR_ASSIGN_OR_RETURN(comm::Collectives::Ticket ticket,
                      collectives.Post(operation, input, output, driver));
  works_[slot] = {&collectives, ticket, driver};
  ++in_flight_;
  return {};
}

Status CommWorks::Finish(uint32_t slot) {
  const InFlight work = std::exchange(works_[slot], {});
  --in_flight_;
  return work.group->Complete(work.ticket, *limits_);
}

void CommWorks::Turn() {
  for (InFlight& work : works_) {
    if (work.group == nullptr || work.driver == comm::Collectives::Driver::kGroup) continue;
    work.group->Test(work.ticket);
  }
}

void CommWorks::Fail(const Status& status) {
  for (comm::Collectives* group : groups_) {
    // A group that has ended keeps its own cause.
    if (group == nullptr || !group->status().ok()) continue;
    std::string cause(status.message());
    if (!status.node().empty()) cause = Cat("node '", status.node(), "': ", cause);
    group->Abort(std::move(cause));
  }
  for (InFlight& work : works_) {
    if (work.group == nullptr) continue;
    const InFlight ended = std::exchange(work, {});
    --in_flight_;
    ended.group->Complete(ended.ticket, {}).IgnoreError();
  }
}

}  // namespace hr::engine
