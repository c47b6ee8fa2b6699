// RNN, GRU and LSTM over whole sequences: the input's part of all gates is one matrix product, and
// one product a step adds what depends on the state. Backward goes the steps in the other order
// and takes what it needs of the forward pass from its record (runtime/ops/recurrent.h).
//
// Nothing is allocated: `scratch` has the size that the …ScratchBytes partner says.
#pragma once

#include <vector>

#include "backends/cpu/kernels/recurrent_cell.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

struct RecurrentShape {
  std::vector<RecurrentRowShape> directions;  // one or two
  int64_t steps = 0, batch = 0, input = 0;
  bool batch_first = false;  // x is [batch, steps, input] and not [steps, batch, input]
  int slices = 1;            // the planned number of threads

  int64_t direction_count() const { return static_cast<int64_t>(directions.size()); }
  int64_t hidden() const { return directions[0].hidden; }
  int64_t rows() const { return steps * batch; }
};

// The operands as ONNX lays them out; null for what is omitted.
template <typename T>
struct RecurrentForward {
  const T *x, *w, *r, *bias;
  const int32_t* lengths;
  const T *initial_h, *initial_c, *peepholes;
  T *y, *y_h, *y_c, *record;
};
template <typename T>
size_t RecurrentScratchBytes(const RecurrentShape& shape);
template <typename T>
void Recurrent(const Lease& threads, const RecurrentShape& shape,
               const RecurrentForward<T>& operands, void* scratch);

template <typename T>
struct RecurrentBackward {
  const T *record, *x, *w, *r;
  const int32_t* lengths;
  const T *initial_h, *initial_c, *peepholes;
  const T *dy, *dy_h, *dy_c;
  T *dw, *dr, *dbias, *d_initial_h, *d_initial_c, *d_peepholes, *dx;
};
template <typename T>
size_t RecurrentGradScratchBytes(const RecurrentShape& shape);
template <typename T>
void RecurrentGrad(const Lease& threads, const RecurrentShape& shape,
                   const RecurrentBackward<T>& operands, void* scratch);

}  // namespace hr::cpu
