// Loading plugins into an env.
#pragma once

#include "runtime/plugin/plugin.h"
#include "runtime/session/env.h"

namespace hr::capi {

// An instance of a plugin by name or path, see hr_env_load_plugin: linked in, or a shared object.
Result<std::shared_ptr<plugin::Plugin>> OpenPlugin(session::Env& env,
                                                   std::string_view name_or_path);

// Gives what it has to the env. Success if the env has a plugin of this name already.
Status LoadPlugin(session::Env& env, std::string_view name_or_path);

}  // namespace hr::capi
