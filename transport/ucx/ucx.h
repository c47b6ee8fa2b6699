// The transport over UCX: RDMA if the hardware has it, else what UCX offers in its place.
//
// UCX moves the bytes of a connection as active messages, in order, and StreamTransport does the
// rest. Network adapters read what is long from the sender's memory (worker_loans.cc). UCX itself
// cannot take back a send, nor a receive once it is matched, so what is cancelled is copied.
//
// UCX cannot encrypt: without `trusted_fabric` only processes of this host are reached, through
// shared memory. Addresses are "ucx:HOST:PID:WORKER", and say nothing that has to be hidden.
#pragma once

#include <memory>
#include <string>

#include "headrace/plugin.h"
#include "runtime/comm/transport.h"

namespace hr::ucx {

// `identity`: see Endpoint::peer_identity. With `trusted_fabric` UCX chooses among all transports
// that it finds; UCX_TLS and its other variables are heeded. `lends`: receivers read what is long
// by UCX's rendezvous even if there is no network adapter that does it, for tests.
Result<std::unique_ptr<comm::Transport>> CreateUcxTransport(const comm::TransportSettings& settings,
                                                            std::string identity,
                                                            bool lends = false);

// The plugin "ucx".
hr_status* UcxPluginEntry(const hr_plugin_host* host, hr_plugin* out);

}  // namespace hr::ucx
