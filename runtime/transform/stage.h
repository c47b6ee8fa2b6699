// Runs in stages. What a graph needs may follow only from what it computes: the sizes that NonZero
// finds, the branch that an If takes, what a Loop leaves behind. Such a run goes stage by stage: a
// stage computes all that can be planned with what is known, and what came out of it (types, and
// the values of those few tensors that shapes or branches depend on) gives the next stage. Stages
// are made of modules like those that Extract returns: a main graph with its bodies and a signature
// "run".
#pragma once

#include "runtime/transform/fold.h"
#include "runtime/transform/request.h"

namespace hr::transform {

// What is known of an input when a stage is made.
struct StageInput {
  graph::ValueType type;             // of a tensor: with fixed dimensions
  const Tensor* contents = nullptr;  // if the stage may depend on them
};

// Where a value comes from while a stage runs.
struct StageValue {
  enum class From : uint8_t { kNone, kInput, kConstant, kReady, kHost };
  From from = From::kNone;  // kNone: an optional operand that is omitted
  uint32_t index = 0;       // of the stage's inputs, `whole`'s constants, or outputs so far
};

// A node that the session runs between compiled parts: loops, and what handles sequences.
struct HostNode {
  graph::NodeId node;  // of `whole`
  std::vector<StageValue> inputs;
};

struct Stage {
  graph::Module whole;  // with the types that are known
  // What is compiled. Its inputs are these of the stage's; its outputs are kReady values.
  graph::Module ready;
  std::vector<uint32_t> ready_inputs;
  std::vector<HostNode> host;  // afterwards, in this order
  bool last = false;
  // If it is the last stage: the outputs of the run. Else the inputs of `rest`.
  std::vector<StageValue> next;
  graph::Module rest;
  // Those of its inputs whose contents a later stage depends on.
  graph::Marks decides;
};

// Returns the module's first stage for such inputs. A part that cannot be planned whatever is known
// is an UNIMPLEMENTED that names a node.
Result<Stage> MakeStage(const FoldTools& tools, const graph::Module& module,
                        std::span<const StageInput> inputs);

// Whether the module's main graph has nodes that no region can hold.
bool NeedsStages(const ops::OpRegistry& registry, const graph::Module& module);

}  // namespace hr::transform
