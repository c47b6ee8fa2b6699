// Convolution of batch-blocked images (batch_blocked.h), forward and backward, with ReLU and max
// pooling in the same pass. Cross-correlation with ONNX's meaning of the attributes; weights stay
// in ONNX's layout [oc][ic / groups][kh][kw]. Method: direct convolution in register tiles, vector
// lanes being images, as no channel count then wastes lanes.
//
// float and double. Images, gradients and scratch are aligned to 64 bytes. Results depend on the
// shape and on `slices` (the planned number of threads), never on how many threads the lease has.
// Nothing is allocated: `scratch` has the size that the …ScratchBytes partner says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// What follows the convolution in the same pass: ReLU, then max pooling with windows of pool_h x
// pool_w that neither overlap nor reach into padding. Rows and columns left over are dropped.
struct ConvFusion {
  bool relu = false;
  int64_t pool_h = 1, pool_w = 1;

  bool Pools() const { return pool_h * pool_w > 1; }
  int64_t OutputRows(const ConvShape& s) const { return s.oh / pool_h; }
  int64_t OutputColumns(const ConvShape& s) const { return s.ow / pool_w; }
};

// Whether max pooling of that shape can be fused behind a convolution; others follow it by
// themselves.
bool CanFuseMaxPool(const PoolShape& pool);

template <typename T>
struct ConvForwardArgs {
  const T* x = nullptr;
  const T* w = nullptr;
  const T* bias = nullptr;    // [oc], may be null
  T* y = nullptr;             // [oc][OutputRows][OutputColumns] for each image
  uint8_t* argmax = nullptr;  // as y: where in its window (row-major) the maximum was, kNoGradient
                              // where ReLU cut it off; only with pooling, may be null
};

template <typename T>
void ConvForward(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                 const ConvForwardArgs<T>& args, int slices);

// The gradient that comes from above, at the end of what the forward pass fused.
template <typename T>
struct ConvGradient {
  const T* dy = nullptr;
  const uint8_t* argmax = nullptr;  // of the forward pass; with pooling
  const T* y = nullptr;             // of the forward pass; with ReLU and no pooling
};

// dx = gradient of x; all of it is written.
template <typename T>
size_t ConvBackwardDataScratchBytes(const ConvShape& shape, const ConvFusion& fusion, int slices);
template <typename T>
void ConvBackwardData(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                      const ConvGradient<T>& gradient, const T* w, T* dx, int slices,
                      void* scratch);

// dw = gradient of w, db = gradient of the bias ([oc], may be null); both are overwritten.
template <typename T>
size_t ConvBackwardWeightsScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                       int slices);
template <typename T>
void ConvBackwardWeights(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                         const ConvGradient<T>& gradient, const T* x, T* dw, T* db, int slices,
                         void* scratch);

// The three passes of one method, by the signatures above.
template <typename T>
struct ConvPasses {
  const char* name;  // of the method
  size_t (*forward_scratch_bytes)(const ConvShape&, const ConvFusion&, int slices);
  void (*forward)(const Lease&, const ConvShape&, const ConvFusion&, const ConvForwardArgs<T>&,
                  int slices, void* scratch);
  size_t (*backward_data_scratch_bytes)(const ConvShape&, const ConvFusion&, int slices);
  void (*backward_data)(const Lease&, const ConvShape&, const ConvFusion&, const ConvGradient<T>&,
                        const T* w, T* dx, int slices, void* scratch);
  size_t (*backward_weights_scratch_bytes)(const ConvShape&, const ConvFusion&, int slices);
  void (*backward_weights)(const Lease&, const ConvShape&, const ConvFusion&,
                           const ConvGradient<T>&, const T* x, T* dw, T* db, int slices,
                           void* scratch);
};

template <typename T>
const ConvPasses<T>& DirectConvPasses();

// The faster method for that shape.
template <typename T>
const ConvPasses<T>& ConvPassesFor(const ConvShape& shape);

}  // namespace hr::cpu
