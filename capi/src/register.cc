#include "capi/src/register.h"

#ifdef HEADRACE_CPU
#include "backends/cpu/cpu_backend.h"
#endif
#ifdef HEADRACE_COMM
#include "transport/collective/planner.h"
#include "transport/inproc/inproc.h"
#endif
#ifdef HEADRACE_SHM
#include "transport/shm/shm.h"
#endif
#ifdef HEADRACE_TCP
#include "transport/tcp/tcp.h"
#endif

namespace hr::capi {

#ifdef HEADRACE_COMM
// In the order of preference.
static void RegisterTransports(comm::Hub& hub) {
  hub.AddStore("file", comm::CreateFileStore);
  hub.AddStore("memory", [](const std::string&) -> Result<std::unique_ptr<comm::Store>> {
    return comm::CreateMemoryStore();
  });
  hub.SetPlanner(comm::CreatePlanner());
  hub.AddTransport("inproc", [network = comm::CreateInprocNetwork()](const comm::TransportSettings&,
                                                                     std::string identity) {
    return comm::CreateInprocTransport(network, std::move(identity));
  });
#ifdef HEADRACE_SHM
  hub.AddTransport("shm", [](const comm::TransportSettings&, std::string identity) {
    return comm::CreateShmTransport(std::move(identity));
  });
#endif
#ifdef HEADRACE_TCP
  hub.AddTransport("tcp", [](const comm::TransportSettings& settings, std::string identity) {
    comm::TcpOptions options = {.secret = settings.secret,
                                .trusted_fabric = settings.trusted_fabric};
    if (!settings.host.empty()) options.host = settings.host;
    return comm::CreateTcpTransport(options, std::move(identity));
  });
#endif
}
#endif

Status RegisterParts([[maybe_unused]] session::Env& env) {
#ifdef HEADRACE_CPU
  HR_RETURN_IF_ERROR(env.AddBackend(cpu::CreateCpuBackend(env.allocator())));
#endif
#ifdef HEADRACE_COMM
  RegisterTransports(env.comm());
#endif
  return {};
}

hr_plugin_entry_function FindLinkedPlugin([[maybe_unused]] std::string_view name) {
  return nullptr;
}

}  // namespace hr::capi
