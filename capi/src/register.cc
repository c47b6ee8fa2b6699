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
#include "runtime/comm/remote_store.h"
#include "transport/tcp/tcp.h"
#endif

namespace hr::capi {

#ifdef HEADRACE_COMM
// In the order of preference.
static void RegisterTransports(comm::Hub& hub) {
  using comm::StoreSettings;
  hub.AddStore("file", [](const std::string& place, const StoreSettings&) {
    return comm::CreateFileStore(place);
  });
  hub.AddStore(
      "memory",
      [](const std::string&, const StoreSettings&) -> Result<std::unique_ptr<comm::Store>> {
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
  hub.AddTransport("tcp", comm::CreateTcpTransport);
  hub.AddStore("tcp", [](const std::string& place, const StoreSettings& settings) {
    return comm::OpenRemoteStore(comm::CreateTcpTransport, "tcp", place, settings);
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
