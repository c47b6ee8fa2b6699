// Operators with bodies. A body is a graph of the module that an attribute names. It sees nothing
// but its inputs: values of the graph around the node are given to it one by one (they are
// *captured*), so that every body can be compiled, differentiated and saved on its own. A body
// touches no variable and no other resource; it is given what variables hold, and what it computes
// is assigned outside.
//
//   If    inputs: condition, captured…                   outputs: those of the body that runs
//         attributes: then_branch, else_branch; both take all captured values, in this order
//   Loop  inputs: trip count?, condition?, states…, captured…
//         outputs: states…, scans… (what the body gives in each iteration, joined along a new axis)
//         attributes: body, captured (how many of the inputs are, default 0)
//         body: (iteration, condition, states…, captured…) → (condition, states…, scans…)
//   Scan  inputs: states…, scanned…, captured…           outputs: states…, scans…
//         attributes: body, captured, num_scan_inputs, and ONNX's axes and directions
//         body: (states…, slices…, captured…) → (states…, scans…)
//         Operator set 8: a first input more, the lengths (omitted), and all but captured values
//         have an axis of examples in front, each of which is scanned along its own first axis.
//   Call  inputs: those of the body                      outputs: those of the body
//         attribute: body
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::ops {

// Where the operands of a Loop lie.
struct LoopLayout {
  size_t states;
  size_t captured;
  size_t scans;

  size_t first_captured() const { return 2 + states; }  // among the node's and the body's inputs
};
// Fails if the node and its body do not fit together.
Result<LoopLayout> LoopLayoutOf(const graph::Module& module, const Node& node);

struct ScanLayout {
  bool batched = false;  // operator set 8
  size_t first = 0;      // the states begin at this input of the node
  size_t states = 0;
  size_t scanned = 0;
  size_t captured = 0;
  size_t scans = 0;
};
Result<ScanLayout> ScanLayoutOf(const graph::Module& module, const Node& node);

// Returns the graph that an attribute names.
Result<uint32_t> BodyOf(const graph::Module& module, const Node& node, Literal attribute);

// Bodies touch no resource: UNIMPLEMENTED, with the way out, if this one does.
Status CheckBody(const OpRegistry& registry, const graph::Module& module, uint32_t body);
// The same for all bodies of a module.
Status CheckBodies(const OpRegistry& registry, const graph::Module& module);

}  // namespace hr::ops
