// Optimizer steps over many tensors at once: their elements are cut evenly over the slices, so
// small tensors cost no region of their own. Formulas in runtime/ops/functors/optimizer.inc.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/executor.h"

namespace hr::cpu {

// One parameter tensor of `count` elements. State that the options make unnecessary may be null.
template <typename T>
struct OptimizerTensor {
  T* parameter = nullptr;
  const T* gradient = nullptr;
  T* state[2] = {};
  int64_t count = 0;
};

// state: velocity (with momentum)
struct SgdOptions {
  double learning_rate = 0, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  bool first = false;  // sets the velocity to the gradient, without dampening
};

// state: first and second moment
struct AdamOptions {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW
  int64_t step = 1;        // of this update, counted from 1
};

// state: sum of squares
struct AdaGradOptions {
  double learning_rate = 0, epsilon = 1e-10, weight_decay = 0;
};

// state: mean square, velocity (with momentum)
struct RmsPropOptions {
  double learning_rate = 0, alpha = 0.99, momentum = 0, epsilon = 1e-8, weight_decay = 0;
};

// float and double. Results do not depend on `slices`.
template <typename T, typename Options>
void UpdateParameters(const Lease& threads, std::span<const OptimizerTensor<T>> tensors,
                      const Options& options, int slices);

}  // namespace hr::cpu
