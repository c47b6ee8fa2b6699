// Sessions whose graphs communicate.
#include "capi/src/comm/handles.h"
#include "runtime/comm/group_collectives.h"
#include "runtime/plugin/group.h"
#include "runtime/session/same_graph.h"

namespace hr::capi {
namespace {

// The plugin of the env that has native groups; null: none.
std::shared_ptr<plugin::Plugin> NativeGroups(const session::Env& env) {
  for (const auto& plugin : env.plugins()) {
    if (plugin->group() != nullptr) return plugin;
  }
  return nullptr;
}

}  // namespace

Status BindGroup(session::Session& session, std::string_view name, comm::Group& group,
                 const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(auto own, group.Split(0, group.rank(), limits));
  const session::Env& env = session.env();
  HR_ASSIGN_OR_RETURN(auto collectives, plugin::WithNativeGroup(
                                            comm::CollectivesOf(std::move(own)), NativeGroups(env),
                                            group.options().timeout_nanos, env.log(), limits));
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
