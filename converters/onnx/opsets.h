// Which operator sets an ONNX model states, so that its operators mean what those of a module do.
#pragma once

#include <map>
#include <string>

#include "converters/onnx/problems.h"
#include "runtime/ops/op_def.h"

namespace hr::onnx {

// The module with newer nodes in the place of those that are older than the operator sets in which
// others exist, where something newer that computes the same is known.
Result<graph::Module> Upgraded(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module);

// Domain → version, for the operators that `used` marks. An ONNX model has one version for each
// domain, so problems name operators of versions that no one version gives.
std::map<std::string, int64_t> ChooseOpsets(const graph::Module& module, const graph::Marks& used,
                                            const ops::OpRegistry& registry, Problems& problems);

// The version of the file format that brought an operator set of ONNX's domain.
int64_t IrVersionOf(int64_t opset);

}  // namespace hr::onnx
