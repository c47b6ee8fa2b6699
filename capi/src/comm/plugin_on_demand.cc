#include "capi/src/comm/plugin_on_demand.h"

#include "capi/src/plugin.h"
#include "runtime/plugin/transport.h"

namespace hr::capi {

Result<std::shared_ptr<plugin::Plugin>> PluginOnDemand::Open() {
  std::lock_guard lock(mutex_);
  if (plugin_ != nullptr) return plugin_;
  Result<std::shared_ptr<plugin::Plugin>> opened = OpenPlugin(env_, name_);
  if (opened.ok()) {
    plugin_ = *opened;
  } else if (env_.log() != nullptr && !std::exchange(complained_, true)) {
    env_.log()->Write(LogLevel::kInfo, opened.status().message());
  }
  return opened;
}

Result<std::unique_ptr<comm::Transport>> PluginOnDemand::CreateTransport(
    const std::string& kind, const comm::TransportSettings& settings, const std::string& identity) {
  HR_ASSIGN_OR_RETURN(auto plugin, Open());
  return plugin::CreateTransport(std::move(plugin), kind, settings, identity);
}

bool PluginOnDemand::IsPreferred(const char* kind) {
  const auto plugin = Open();
  return plugin.ok() && plugin::CheckHasTransport(**plugin, kind).ok() &&
         plugin::IsPreferred(**plugin, kind);
}

std::string PluginOnDemand::Devices(const char* kind) {
  const auto plugin = Open();
  if (!plugin.ok() || !plugin::CheckHasTransport(**plugin, kind).ok()) return "";
  return plugin::TransportDevices(**plugin, kind);
}

}  // namespace hr::capi
