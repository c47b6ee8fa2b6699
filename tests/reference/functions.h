// The families of functions, one a file, and what they share.
#pragma once

#include <span>

#include "tests/reference/call.h"

namespace hr::reference {

std::span<const Entry> BitFunctions();              // bits.cc
std::span<const Entry> ControlFunctions();          // control.cc
std::span<const Entry> ConvolutionFunctions();      // convolution.cc
std::span<const Entry> EinsumFunctions();           // einsum.cc
std::span<const Entry> ElementwiseFunctions();      // elementwise.cc
std::span<const Entry> FourierFunctions();          // fourier.cc
std::span<const Entry> GenerateFunctions();         // generate.cc
std::span<const Entry> IndexingFunctions();         // indexing.cc
std::span<const Entry> LinearAttentionFunctions();  // linear_attention.cc
std::span<const Entry> MatrixFunctions();           // matrix.cc
std::span<const Entry> MlFunctions();               // ml.cc
std::span<const Entry> MovementFunctions();         // movement.cc
std::span<const Entry> NGramFunctions();            // ngrams.cc
std::span<const Entry> NormalizationFunctions();    // normalization.cc
std::span<const Entry> OptimizerFunctions();        // optimizer.cc
std::span<const Entry> PoolFunctions();             // pool.cc
std::span<const Entry> RandomFunctions();           // random.cc
std::span<const Entry> RecurrentFunctions();        // recurrent.cc
std::span<const Entry> ReductionFunctions();        // reduction.cc
std::span<const Entry> RegionFunctions();           // regions.cc
std::span<const Entry> ResizeFunctions();           // resize.cc
std::span<const Entry> SelectionFunctions();        // selection.cc
std::span<const Entry> SequenceFunctions();         // sequence.cc
std::span<const Entry> SoftmaxFunctions();          // softmax.cc
std::span<const Entry> UnfoldFunctions();           // unfold.cc

// Sums x over the axes along which `dims` was broadcast to it.
Array SumTo(const Array& x, const Dims& dims);
// The shape that all inputs broadcast to.
Dims BroadcastShape(const Call& call);
// The positions of an axis that a window with this output index covers, -1 in the padding.
struct Axis {
  int64_t kernel, stride, dilation, pad_begin, pad_end, input, output;
  int64_t Position(int64_t out, int64_t k) const {
    int64_t at = out * stride + k * dilation - pad_begin;
    return at >= 0 && at < input ? at : -1;
  }
};
// The spatial axes of a convolution or pool over `input` (without batch and channels).
std::vector<Axis> Windows(const Call& call, std::vector<int64_t> kernel, const Dims& input);

}  // namespace hr::reference
