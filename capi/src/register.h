// The one place that names concrete backends and transports.
#pragma once

#include "runtime/session/env.h"

namespace hr::capi {

Status RegisterBackends(session::Env& env);
void RegisterTransports(comm::Hub& hub);

}  // namespace hr::capi
