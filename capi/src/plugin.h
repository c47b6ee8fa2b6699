// Loading plugins into an env.
#pragma once

#include "runtime/session/env.h"

namespace hr::capi {

// By name or path, see hr_env_load_plugin. Success where the env has a plugin of this name already.
Status LoadPlugin(session::Env& env, std::string_view name_or_path);

}  // namespace hr::capi
