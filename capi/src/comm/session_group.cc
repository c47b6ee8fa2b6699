// Sessions whose graphs communicate.
#include "capi/src/comm/handles.h"
#include "runtime/comm/group_collectives.h"
#include "runtime/session/same_graph.h"

namespace hr::capi {

Status BindGroup(session::Session& session, std::string_view name, comm::Group& group,
                 const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(auto own, group.Split(0, group.rank(), limits));
  std::shared_ptr<comm::Collectives> collectives = comm::CollectivesOf(std::move(own));
  HR_RETURN_IF_ERROR(session::CompareRanks(*collectives, session.model().module(), session.seed(),
                                           hr_version_text(), limits));
  return session.BindGroup(name, std::move(collectives), limits);
}

}  // namespace hr::capi

extern "C" {

hr_status* hr_session_bind_group(hr_session* session, const char* name, hr_group* group,
                                 const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(name);
  if (group != nullptr) {
    HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::CommLimits(limits, group->rep->options()));
    return hr::capi::Wrap(hr::capi::BindGroup(*session->rep, name, *group->rep, inner));
  }
  HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  return hr::capi::Wrap(session->rep->BindGroup(name, nullptr, inner));
}

hr_status* hr_session_broadcast(hr_session* session, const char* name, hr_root root,
                                const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(name);
  HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  return hr::capi::Wrap(session->rep->Broadcast(name, root, inner).status().Clone());
}

}  // extern "C"
