#include "capi/src/register.h"

#ifdef HEADRACE_CPU
#include "backends/cpu/cpu_backend.h"
#endif

namespace hr::capi {

Status RegisterBackends([[maybe_unused]] session::Env& env) {
#ifdef HEADRACE_CPU
  HR_RETURN_IF_ERROR(env.AddBackend(cpu::CreateCpuBackend(env.allocator())));
#endif
  return {};
}

}  // namespace hr::capi
