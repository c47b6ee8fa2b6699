// A plugin of transports that is opened when it is first wanted.
#pragma once

#include <mutex>

#include "runtime/comm/transport.h"
#include "runtime/session/env.h"

namespace hr::capi {

// Thread-safe. The env outlives it.
class PluginOnDemand {
 public:
  PluginOnDemand(session::Env& env, std::string name) : env_(env), name_(std::move(name)) {}

  // A failure, which the first time is also logged, if this machine has no such plugin.
  Result<std::shared_ptr<plugin::Plugin>> Open();
  Result<std::unique_ptr<comm::Transport>> CreateTransport(const std::string& kind,
                                                           const comm::TransportSettings& settings,
                                                           const std::string& identity);
  // See hr_plugin_transport_table; nothing if there is no such plugin.
  bool IsPreferred(const char* kind);
  std::string Devices(const char* kind);

 private:
  session::Env& env_;
  const std::string name_;
  std::mutex mutex_;
  std::shared_ptr<plugin::Plugin> plugin_;
  bool complained_ = false;
};

}  // namespace hr::capi
