#include "backends/cpu/onednn/library.h"

#include <dlfcn.h>

namespace hr::cpu::onednn {
namespace {

std::string_view NameOf(dnnl_status_t status) {
  switch (status) {
    case dnnl_out_of_memory: return "out of memory";
    case dnnl_invalid_arguments: return "invalid arguments";
    case dnnl_unimplemented: return "not implemented";
    case dnnl_runtime_error: return "runtime error";
    default: return "failed";
  }
}

// Looks only where oneDNN itself looks, as a process may hold several OpenMP runtimes.
OpenMp FindOpenMp() {
  OpenMp found;
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(&dnnl_engine_create), &library) == 0) return found;
  void* handle = dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) handle = dlopen(nullptr, RTLD_NOW);  // linked into the program itself
  if (handle == nullptr) return found;
  found.threads = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
  found.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  dlclose(handle);  // oneDNN stays loaded: we are linked with it
  return found;
}

}  // namespace

Status Check(dnnl_status_t status, std::string_view call) {
  if (status == dnnl_success) return {};
  if (status == dnnl_out_of_memory) return ResourceExhausted("oneDNN: ", call, ": out of memory");
  if (status == dnnl_unimplemented) return Unimplemented("oneDNN has no ", call, " of that kind");
  return Internal("oneDNN: ", call, ": ", NameOf(status));
}

Result<std::shared_ptr<const Library>> Library::Open() {
  auto library = std::make_shared<Library>();
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  library->open_mp_ = FindOpenMp();
  if (library->open_mp_.threads == nullptr || library->open_mp_.set_threads == nullptr) {
    return Unimplemented("the OpenMP runtime of oneDNN was not found");
  }
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  return Unimplemented("a oneDNN on TBB cannot be kept on one thread; use one on OpenMP");
#endif
  HR_RETURN_IF_ERROR(Check(dnnl_engine_create(library->engine_.out(), dnnl_cpu, 0), "engine"));
  return std::shared_ptr<const Library>(std::move(library));
}

}  // namespace hr::cpu::onednn
