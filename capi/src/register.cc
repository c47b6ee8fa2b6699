#include "capi/src/register.h"

#include <cstdlib>

#ifdef HEADRACE_CPU
#include "backends/cpu/cpu_backend.h"
#endif
#ifdef HEADRACE_COMM
#include "capi/src/comm/plugin_on_demand.h"
#include "runtime/comm/remote_store.h"
#include "transport/collective/planner.h"
#include "transport/inproc/inproc.h"
#endif
#ifdef HEADRACE_SHM
#include "transport/shm/shm.h"
#endif

namespace hr::capi {

#ifdef HEADRACE_COMM
// UCX cannot encrypt what leaves the host, and is left alone if it has no RDMA to offer.
static void AddUcx(session::Env& env) {
  const auto ucx = std::make_shared<PluginOnDemand>(env, "ucx");
  env.comm().AddTransport(
      "ucx",
      [ucx](const comm::TransportSettings& settings, const std::string& identity) {
        return ucx->CreateTransport("ucx", settings, identity);
      },
      {.available = [ucx] { return ucx->Open().status().Clone(); },
       .automatic =
           [ucx](const comm::TransportSettings& settings) {
             return settings.trusted_fabric && ucx->IsPreferred("ucx");
           },
       .devices = [ucx] { return ucx->Devices("ucx"); },
       .plugin = "ucx"});
}

// In the order of preference.
static void RegisterTransports(session::Env& env) {
  comm::Hub& hub = env.comm();
  using comm::StoreSettings;
  hub.AddStore("file", [](const std::string& place, const StoreSettings&) {
    return comm::CreateFileStore(place);
  });
  hub.AddStore(
      "memory",
      [](const std::string&, const StoreSettings&) -> Result<std::unique_ptr<comm::Store>> {
        return comm::CreateMemoryStore();
      });
  hub.SetPlanner(collective::CreatePlanner());
  hub.AddTransport("inproc", [network = inproc::CreateInprocNetwork()](
                                 const comm::TransportSettings&, std::string identity) {
    return inproc::CreateInprocTransport(network, std::move(identity));
  });
#ifdef HEADRACE_SHM
  hub.AddTransport("shm", [](const comm::TransportSettings&, std::string identity) {
    return shm::CreateShmTransport(std::move(identity));
  });
#endif
  const auto net = std::make_shared<PluginOnDemand>(env, "net");
  const auto tcp = [net](const comm::TransportSettings& settings, const std::string& identity) {
    return net->CreateTransport("tcp", settings, identity);
  };
  AddUcx(env);
  hub.AddTransport("tcp", tcp,
                   {.available = [net] { return net->Open().status().Clone(); }, .plugin = "net"});
  hub.AddStore("tcp", [tcp](const std::string& place, const StoreSettings& settings) {
    return comm::OpenRemoteStore(tcp, "tcp", place, settings);
  });
}
#endif

#ifdef HEADRACE_CPU
static bool IsOff(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value == std::string_view("off");
}
#endif

Status RegisterParts([[maybe_unused]] session::Env& env, const char* cost_table) {
#ifdef HEADRACE_CPU
  if (IsOff("HEADRACE_AVX512")) cpu::DisableAvx512();
  if (IsOff("HEADRACE_MATRIX_UNIT")) cpu::DisableMatrixUnit();
  if (cost_table == nullptr) cost_table = std::getenv("HEADRACE_COSTS");
  if (cost_table != nullptr && *cost_table != '\0') {
    HR_ASSIGN_OR_RETURN(auto&& cpu, cpu::CreateCpuBackend(env.allocator(), cost_table));
    HR_RETURN_IF_ERROR(env.AddBackend(std::move(cpu)));
  } else {
    HR_RETURN_IF_ERROR(env.AddBackend(cpu::CreateCpuBackend(env.allocator())));
  }
#else
  if (cost_table != nullptr) {
    return Unimplemented("hr_env_options.cost_table is of the CPU backend, which this build lacks");
  }
#endif
#ifdef HEADRACE_COMM
  RegisterTransports(env);
#endif
  return {};
}

void DescribeLibraries([[maybe_unused]] JsonWriter& json) {
#ifdef HEADRACE_CPU
  json.Key("onednn");
  cpu::DescribeOneDnn(json);
#endif
}

}  // namespace hr::capi
