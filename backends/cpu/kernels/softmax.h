// Softmax, its logarithm, their gradients and the classification losses built on them, for float
// and double. Scores are [outer, n, inner]: softmax runs over n, and each of the outer * inner
// lines has one label. Nothing is allocated; results depend on the shapes and on `ranges` (from
// LineRanges), never on how many threads the lease has.
#pragma once

#include "backends/cpu/kernels/int_view.h"
#include "backends/cpu/kernels/softmax_kernels.h"
#include "runtime/base/errors.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// How many ranges to cut the lines into for `slices` threads.
template <typename T>
int LineRanges(const LineShape& shape, int slices);

// Outputs may be the memory of inputs.
template <typename T>
void Softmax(const Lease& threads, const LineShape& shape, const T* x, T* y, int ranges);
template <typename T>
void LogSoftmax(const Lease& threads, const LineShape& shape, const T* x, T* y, int ranges);
template <typename T>
void SoftmaxGrad(const Lease& threads, const LineShape& shape, const T* dy, const T* y, T* dx,
                 int ranges);
template <typename T>
void LogSoftmaxGrad(const Lease& threads, const LineShape& shape, const T* dy, const T* y, T* dx,
                    int ranges);

enum class LossReduction : uint8_t { kNone, kSum, kMean };

// Which class each line has, and how much it counts.
template <typename T>
struct LossLabels {
  IntView classes;
  const T* weights = nullptr;  // of the n classes; null: all 1
  bool ignores = false;
  int64_t ignore_index = 0;

  int64_t operator[](int64_t line) const { return classes[line]; }
  bool Counts(int64_t label) const { return !ignores || label != ignore_index; }
  T Weight(int64_t label) const { return weights == nullptr ? T(1) : weights[label]; }
};

// Scratch of the two losses.
inline size_t LossScratchBytes(int ranges) { return static_cast<size_t>(ranges) * sizeof(double); }

// loss = -weight[label] * log softmax(scores)[label], one a line, or their sum, or the sum divided
// by the sum of the weights. `log_prob` (null: not wanted) may be the memory of `scores`. A label
// outside [0, n) that is not ignored is OUT_OF_RANGE.
template <typename T>
Status SoftmaxCrossEntropyLoss(const Lease& threads, const LineShape& shape, const T* scores,
                               const LossLabels<T>& labels, LossReduction reduction, T* loss,
                               T* log_prob, int ranges, void* scratch);
template <typename T>
Status NegativeLogLikelihoodLoss(const Lease& threads, const LineShape& shape, const T* log_prob,
                                 const LossLabels<T>& labels, LossReduction reduction, T* loss,
                                 int ranges, void* scratch);

// The gradients of the first argument. `dloss` has one element, or one a line where the reduction
// is none. The first one's output may be the memory of `log_prob`.
template <typename T>
Status SoftmaxCrossEntropyLossGrad(const Lease& threads, const LineShape& shape, const T* dloss,
                                   const T* log_prob, const LossLabels<T>& labels,
                                   LossReduction reduction, T* dscores, int ranges);
template <typename T>
Status NegativeLogLikelihoodLossGrad(const Lease& threads, const LineShape& shape, const T* dloss,
                                     const LossLabels<T>& labels, LossReduction reduction,
                                     T* dlog_prob, int ranges);

}  // namespace hr::cpu
