// The one place that names concrete backends, transports and plugins.
#pragma once

#include "headrace/plugin.h"
#include "runtime/base/json_writer.h"
#include "runtime/session/env.h"

namespace hr::capi {

// `cost_table`: hr_env_options.
Status RegisterParts(session::Env& env, const char* cost_table);

// Writes the fields about libraries of others that are opened when they are first wanted.
void DescribeLibraries(JsonWriter& json);

// The entry of a plugin that a static build has linked; null if there is none of this name.
hr_plugin_entry_function FindLinkedPlugin(std::string_view name);

}  // namespace hr::capi
