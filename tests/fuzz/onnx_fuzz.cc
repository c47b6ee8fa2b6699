// Any bytes as an ONNX model: they are converted or refused with a sentence, and what is converted
// can be written as ONNX and converted again.
#include "converters/onnx/convert.h"
#include "converters/onnx/export.h"
#include "runtime/format/writer.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace hr;

void Check(bool condition) {
  if (!condition) std::abort();
}

void CheckSentence(const Status& status) { Check(!status.message().empty()); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder folder;
  static const ops::OpRegistry registry;
  const std::string from = folder.Write("from.onnx", data, size);
  const onnx::ConvertOptions options = {.constants = size % 2 == 1,
                                        .allocator = &SystemAllocator()};
  auto converted = onnx::Convert(from, registry, options);
  if (!converted.ok()) {
    CheckSentence(converted.status());
    return 0;
  }
  const std::string graph = folder.File("graph.hrg"), to = folder.File("to.onnx");
  Check(format::WriteModule(converted->module, graph).ok());
  auto report = onnx::Export(graph, to, registry,
                             {.external_data = size % 3 == 0, .allocator = &SystemAllocator()});
  if (!report.ok()) {
    CheckSentence(report.status());
    return 0;
  }
  auto again = onnx::Convert(to, registry, options);
  if (!again.ok()) std::fprintf(stderr, "%s\n", std::string(again.status().message()).c_str());
  Check(again.ok());
  return 0;
}
