// One row of one step of a recurrent cell, forward and backward: what happens between the matrix
// products. A row is that of a record (runtime/ops/recurrent.h), of one sequence at one step.
#pragma once

#include <cstdint>

#include "runtime/ops/recurrent.h"

namespace hr::cpu {

// What all rows of one direction share.
struct RecurrentRowShape {
  ops::RecurrentCell cell;
  ops::RecurrentDirection direction;
  double clip;
  int64_t hidden;
  bool linear_before_reset;
  bool input_forget;
};

// Elements of scratch memory that a row needs.
inline constexpr int64_t kRowScratch = 8;  // for each of the hidden ones
inline int64_t RowScratch(const RecurrentRowShape& shape) { return kRowScratch * shape.hidden; }

// The states before the step: null stands for zeros, and c is null but for LSTM. `peepholes` is
// null or has 3 * hidden elements, for the gates i, o and f.
template <typename T>
struct RecurrentStates {
  const T* h = nullptr;
  const T* c = nullptr;
  const T* peepholes = nullptr;
};

// The gates' products are complete in the row; the peepholes, the activations and the states
// follow. For a GRU the candidate's gate (the last) lacks what depends on kGruInner.
template <typename T>
void FinishRow(const RecurrentRowShape& shape, const RecurrentStates<T>& before, T* row,
               T* scratch);
// For a GRU before FinishRow: kGruInner = reset gate * h; not called with linear_before_reset,
// where the caller writes it as a product.
template <typename T>
void ResetRow(const RecurrentRowShape& shape, const RecurrentStates<T>& before, T* row, T* scratch);

// The gradients of one row. `d_gates` is that of what the activations are given. On entry d_h and
// d_c are those of the states behind the step, then of those before, without what comes through
// products with R. A GRU has another row of d_gates at kGruInner, the gradient of that product.
template <typename T>
void FinishRowGrad(const RecurrentRowShape& shape, const RecurrentStates<T>& before, const T* row,
                   T* d_gates, T* d_h, T* d_c, T* scratch);
// For a GRU without linear_before_reset, after FinishRowGrad: d_inner is the gradient of
// kGruInner, which the caller computes of the candidate's.
template <typename T>
void ResetRowGrad(const RecurrentRowShape& shape, const RecurrentStates<T>& before, const T* row,
                  const T* d_inner, T* d_gates, T* d_h, T* scratch);

}  // namespace hr::cpu
