#include "capi/src/register.h"

#include "backends/cpu/cpu_backend.h"

namespace hr::capi {

Status RegisterBackends(session::Env& env) {
  return env.AddBackend(cpu::CreateCpuBackend(env.allocator()));
}

}  // namespace hr::capi
