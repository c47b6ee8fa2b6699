#include "backends/cpu/onednn/library.h"

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

}  // namespace

Status Check(dnnl_status_t status, std::string_view call) {
  if (status == dnnl_success) return {};
  if (status == dnnl_out_of_memory) return ResourceExhausted("oneDNN: ", call, ": out of memory");
  if (status == dnnl_unimplemented) return Unimplemented("oneDNN has no ", call, " of that kind");
  return Internal("oneDNN: ", call, ": ", NameOf(status));
}

Result<std::shared_ptr<const Library>> Library::Open() {
  if (!OneDnn().ok()) return OneDnn().status().Clone();
  auto library = std::make_shared<Library>();
  HR_RETURN_IF_ERROR(Check(Dnnl().engine_create(library->engine_.out(), dnnl_cpu, 0), "engine"));
  return std::shared_ptr<const Library>(std::move(library));
}

}  // namespace hr::cpu::onednn
