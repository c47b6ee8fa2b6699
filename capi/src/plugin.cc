#include "capi/src/plugin.h"

#include "capi/src/handles.h"
#include "capi/src/register.h"
#include "runtime/plugin/backend.h"
#ifdef HEADRACE_COMM
#include "runtime/plugin/transport.h"
#endif

namespace hr::capi {
namespace {

bool HasPlugin(const session::Env& env, std::string_view name) {
  for (const auto& plugin : env.plugins()) {
    if (plugin->name() == name) return true;
  }
  return false;
}

#ifdef HEADRACE_COMM
Status TakeTransport(comm::Hub& hub, const std::shared_ptr<plugin::Plugin>& plugin,
                     const char* kind) {
  return hub.AddPluginTransport(
      kind,
      [plugin, kind](const comm::TransportSettings& settings, const std::string& identity) {
        return plugin::CreateTransport(plugin, kind, settings, identity);
      },
      {.automatic = [plugin, kind](const auto&) { return plugin::IsPreferred(*plugin, kind); },
       .devices = [plugin, kind] { return plugin::TransportDevices(*plugin, kind); },
       .plugin = std::string(plugin->name())});
}
#endif

Status TakeParts(session::Env& env, const std::shared_ptr<plugin::Plugin>& plugin) {
  if (plugin->backend() != nullptr) {
    HR_ASSIGN_OR_RETURN(auto&& backend, plugin::CreateBackend(plugin));
    HR_RETURN_IF_ERROR(env.AddBackend(std::move(backend)));
  }
#ifdef HEADRACE_COMM
  for (const char* kind : plugin::TransportKinds(*plugin)) {
    HR_RETURN_IF_ERROR(TakeTransport(env.comm(), plugin, kind));
  }
#endif
  return {};
}

}  // namespace

Result<std::shared_ptr<plugin::Plugin>> OpenPlugin(session::Env& env,
                                                   std::string_view name_or_path) {
  hr_plugin_entry_function entry = FindLinkedPlugin(name_or_path);
  if (entry == nullptr) {
    HR_ASSIGN_OR_RETURN(entry, plugin::FindEntry(name_or_path));
  }
  const plugin::HostServices services{&env.allocator(), &env.clock(), env.log()};
  return plugin::Plugin::Open(entry, services);
}

Status LoadPlugin(session::Env& env, std::string_view name_or_path) {
  if (HasPlugin(env, name_or_path)) return {};
  HR_ASSIGN_OR_RETURN(auto&& plugin, OpenPlugin(env, name_or_path));
  if (HasPlugin(env, plugin->name())) return {};
  HR_RETURN_IF_ERROR(TakeParts(env, plugin));
  env.Log(LogLevel::kInfo, Cat("plugin '", plugin->name(), "' is loaded, from ", name_or_path));
  env.AddPlugin(std::move(plugin));
  return {};
}

}  // namespace hr::capi

extern "C" {

hr_status* hr_env_load_plugin(hr_env* env, const char* name_or_path) {
  HR_REQUIRE(env);
  HR_REQUIRE(name_or_path);
  return hr::capi::Wrap(hr::capi::LoadPlugin(*env->rep, name_or_path));
}

}  // extern "C"
