// Weights in 8 or 16 bits.
#pragma once

#include "runtime/transform/adapter_site.h"

namespace hr::transform {

// The value of a product's weight, as its variable or constant has it. FAILED_PRECONDITION if it is
// only known in a session, INVALID_ARGUMENT if a number is not finite.
Result<Tensor> WeightOf(const graph::Module& module, const AdapterSite& site);

// numbers * scales is the weight, but for at most half a scale; numbers are from -127 to 127.
struct QuantizedWeight {
  Tensor numbers;  // int8
  Tensor scales;   // float32: [n], or [] for the whole tensor

  // `swap`: the two axes of a matrix change places. `axis` is that along which scales differ, of
  // the result.
  static Result<QuantizedWeight> Of(const Tensor& weight, int64_t axis, bool swap, bool per_channel,
                                    Allocator& allocator);
};

// The weight in another floating type; INVALID_ARGUMENT if a number is beyond it.
Result<Tensor> Shortened(const Tensor& weight, DType to, bool swap, const std::string& name,
                         Allocator& allocator);

}  // namespace hr::transform
