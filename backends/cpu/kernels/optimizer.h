// Optimizer steps over many tensors at once: their elements are cut evenly over the slices, so
// small tensors cost no region of their own. Formulas in runtime/ops/functors/optimizer.inc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/executor.h"
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
};

struct OptimizerUpdate {
  size_t step = 0;               // OptimizerStep(operator)
  std::vector<double> settings;  // in the order of the step's Settings
};

// The place of an operator's step in functors::OptimizerSteps.
size_t OptimizerStep(std::string_view op);

// float and double. No two tensors share memory. Results do not depend on `slices`.
template <typename T>
void UpdateParameters(const Lease& threads, std::span<const OptimizerTensor<T>> tensors,
                      const OptimizerUpdate& update, double learning_rate, int slices);

}  // namespace hr::cpu
