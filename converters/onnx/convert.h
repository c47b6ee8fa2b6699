// From an ONNX model to a module of ours.
#pragma once

#include <string>

#include "runtime/base/cancel.h"
#include "runtime/base/file.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/op_def.h"

namespace hr::onnx {

struct ConvertOptions {
  // Weights become constants instead of variables.
  bool constants = false;
  const CallLimits* limits = nullptr;
  Allocator* allocator = nullptr;
};

struct Converted {
  graph::Module module;
  std::string report;         // JSON, see hr_model_convert
  std::vector<Bytes> mapped;  // files in which the module's tensors lie
};

// Reads the model at `path`. A failure names everything that cannot be converted, one sentence a
// line.
Result<Converted> Convert(const std::string& path, const ops::OpRegistry& registry,
                          const ConvertOptions& options);

}  // namespace hr::onnx
