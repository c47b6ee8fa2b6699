// Handles of headrace/comm.h. An hr_work* is a comm::Work* under another name, so that starting an
// operation allocates nothing.
#pragma once

#include "capi/src/handles.h"
#include "headrace/comm.h"
#include "runtime/cluster/launch.h"
#include "runtime/comm/group.h"

struct hr_launch {
  hr::cluster::Launch rep;
};
struct hr_store {
  std::shared_ptr<hr::comm::Store> rep;
};
struct hr_group {
  std::shared_ptr<hr::comm::Group> rep;
};

namespace hr::capi {

inline comm::Work* FromHandle(hr_work* work) { return reinterpret_cast<comm::Work*>(work); }
inline hr_work* ToHandle(comm::WorkRef work) { return reinterpret_cast<hr_work*>(work.Release()); }

// A variable of the process; null if it is not set.
const char* ProcessEnvironment(const char* name);

// The cluster secret that a caller gave, or the environment's if that is null.
Result<std::string> SecretOr(const char* given);

// Lets nodes of the session that name the group `name` communicate in a part of `group`.
Status BindGroup(session::Session& session, std::string_view name, comm::Group& group,
                 const CallLimits& limits);

// What limits a wait that begins now in a group with these options.
Result<HostLimits> CommLimits(const hr_limits* limits, const comm::MeshOptions& options);

}  // namespace hr::capi
