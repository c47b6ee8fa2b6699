// The one place that names concrete backends and transports.
#pragma once

#include "runtime/session/env.h"

namespace hr::capi {

Status RegisterParts(session::Env& env);

}  // namespace hr::capi
