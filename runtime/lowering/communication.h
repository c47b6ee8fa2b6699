// Steps for the operators of headrace.comm: one that starts the operation as soon as its operands
// are there, and one that waits for it before the first step that uses a result.
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/collectives.h"
#include "runtime/engine/program_builder.h"
#include "runtime/lowering/region.h"

namespace hr::lowering {

bool IsCommunication(const graph::Module& module, const graph::Node& node);

// What all tensors of one operation move through: one buffer, in which each has its place. Steps
// that compute inputs write there, so that nothing is copied.
struct Bucket {
  struct Part {
    size_t offset = 0;
    size_t bytes = 0;
  };
  std::vector<Part> parts;  // of the tensors, 64-byte aligned
  size_t bytes = 0;
};

// A hash of the operations of these nodes in a group, by name and order; 0 if
// one is a message. `order`: all nodes.
uint32_t RunHash(const graph::Module& module, std::span<const graph::NodeId> order,
                 std::string_view group);

// Whether the operator moves all its tensors through one bucket, in place.
bool UsesBucket(const graph::Operator& op);
Bucket BucketOf(std::span<const size_t> bytes);

// One node, as its steps see it.
struct Communication {
  const graph::Operator& op;
  const graph::Node& node;
  DType dtype = DType::kUndefined;   // of its tensors; kUndefined: there are none
  size_t elements = 0;               // of the input, of a Recv the output
  Bucket bucket;                     // if it uses one
  DType weight = DType::kUndefined;  // the type of the weight, if there is one
  uint32_t group = 0;                // numbers of engine::CommWorks
  uint32_t slot = 0;
  uint32_t run = 0;  // of the group's first collective: comm::Operation::run
  comm::Collectives::Driver driver = comm::Collectives::Driver::kCaller;
};

// Whether a run goes on while the operation is on its way.
bool Overlaps(const graph::Node& node);

// Operands of the kernel that starts: inputs [input or bucket, weight], outputs [output or bucket];
// of the one that waits: outputs [output].
std::unique_ptr<engine::Kernel> StartKernel(const Communication& what);
std::unique_ptr<engine::Kernel> WaitKernel(const Communication& what);

}  // namespace hr::lowering
