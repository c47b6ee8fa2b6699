// From a graph file of ours to an ONNX model.
#pragma once

#include <string>

#include "runtime/base/cancel.h"
#include "runtime/ops/op_def.h"

namespace hr::onnx {

struct ExportOptions {
  // Empty: "infer" if there is one of that name, or the only one.
  std::string signature;
  // Tensors go to the file TO.data, beside TO. They do anyway if the model would be larger than
  // protocol buffers may be.
  bool external_data = false;
  const CallLimits* limits = nullptr;
  Allocator* allocator = nullptr;
};

// Replaces `to` by the model in `from`, or leaves it as it was. Returns a report as JSON, see
// hr_model_export. A failure names everything that ONNX has no words for, one sentence a line.
Result<std::string> Export(const std::string& from, const std::string& to,
                           const ops::OpRegistry& registry, const ExportOptions& options);

}  // namespace hr::onnx
