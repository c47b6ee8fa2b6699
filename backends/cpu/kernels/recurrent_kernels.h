// The rows of LSTM as almost everybody has it, once per instruction set: sigmoid gates, tanh twice,
// nothing clipped, no peepholes, gates that do not depend on each other.
#pragma once

#include <cstdint>

namespace hr::cpu {

template <typename T>
struct LstmKernels {
  // `row` is that of a record (runtime/ops/recurrent.h): its gates are given, its states are
  // computed. `c`: the state before, null for zeros.
  void (*forward)(int64_t hidden, const T* c, T* row);
  // From d_h and d_c behind the step to those before it, without what R brings, and to the gates'.
  void (*backward)(int64_t hidden, const T* c, const T* row, T* d_gates, T* d_h, T* d_c);
};

// The kernels for this CPU.
template <typename T>
const LstmKernels<T>& KernelsForLstm();

}  // namespace hr::cpu
