// Compiled twice: for the shared library, which opens its plugins, and for the static one, which
// has them linked in.
#include "capi/src/register.h"
#ifdef HEADRACE_LINKED_ONNX
#include "converters/onnx/onnx.h"
#endif
#ifdef HEADRACE_LINKED_NET
#include "transport/net/net.h"
#endif

namespace hr::capi {

hr_plugin_entry_function FindLinkedPlugin([[maybe_unused]] std::string_view name) {
#ifdef HEADRACE_LINKED_NET
  if (name == "net") return net::NetPluginEntry;
#endif
#ifdef HEADRACE_LINKED_ONNX
  if (name == "onnx") return onnx::OnnxPluginEntry;
#endif
  return nullptr;
}

}  // namespace hr::capi
