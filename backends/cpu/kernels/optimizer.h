// Optimizer steps over many tensors at once: their elements are cut evenly over the slices, so
// small tensors cost no region of their own. Formulas in runtime/ops/functors/optimizer.inc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/ops/chosen.h"
#include "runtime/ops/functors/functors.h"

namespace hr::cpu {

// One parameter tensor of `count` elements. State that the settings make unnecessary is null, and
// so is the number of updates so far where the optimizer has none.
template <typename T>
struct OptimizerTensor {
  T* parameter = nullptr;
  const T* gradient = nullptr;
  T* state[functors::OptimizerSteps::kMostStates] = {};
  int64_t* counter = nullptr;
  int64_t count = 0;
  double trust = 1;  // of steps that depend on the norms of whole tensors; set by the update
};

// The squares of a block's parameters, and of the directions that they take, added up.
struct SquareSums {
  double parameter = 0, direction = 0;
};

// A step that depends on the norms of whole tensors (runtime/ops/functors/optimizer.inc).
template <typename Step>
concept Trusting = requires(Step step) {
  step.trust;
};

struct OptimizerUpdate {
  size_t step = 0;               // OptimizerStep(operator)
  std::vector<double> settings;  // in the order of the step's Settings
};

// The place of an operator's step in functors::OptimizerSteps.
size_t OptimizerStep(std::string_view op);

// How many sums an update of tensors of these sizes needs memory for; 0 for most steps.
size_t SquareSumCount(size_t step, std::span<const int64_t> counts);

// float and double. No two tensors share memory. Results do not depend on `slices`. `sums`: memory
// for SquareSumCount of them.
template <typename T>
void UpdateParameters(const Lease& threads, std::span<OptimizerTensor<T>> tensors,
                      const OptimizerUpdate& update, double learning_rate, int slices,
                      SquareSums* sums);

}  // namespace hr::cpu
