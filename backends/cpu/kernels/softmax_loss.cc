#include "backends/cpu/kernels/ranges.h"
#include "backends/cpu/kernels/softmax.h"

namespace hr::cpu {
namespace {

// Checks all labels; the sum of the weights of those that count.
template <typename T>
Result<double> TotalWeight(const LineShape& shape, const LossLabels<T>& labels) {
  double total = 0;
  const int64_t lines = shape.lines();
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t label = labels[line];
    if (!labels.Counts(label)) continue;
    if (label < 0 || label >= shape.n) {
      return OutOfRange("label ", label, " at position ", line, " lies outside [0, ", shape.n,
                        "), the classes of the scores");
    }
    total += static_cast<double>(labels.Weight(label));
  }
  return total;
}

// Where the element of class `label` of the group's line `i` lies.
int64_t ElementOf(const LineGroup& group, int64_t i, int64_t label) {
  return group.offset + i * group.step + label * group.stride;
}

// Runs loss_of(group, per_line) over all groups, which gives the weighted losses of its lines, and
// reduces them.
template <typename T, typename LossOf>
Status Reduce(const Lease& threads, const LineShape& shape, const LossLabels<T>& labels,
              LossReduction reduction, T* loss, int ranges, void* scratch, const LossOf& loss_of) {
  HR_ASSIGN_OR_RETURN(const double total, TotalWeight(shape, labels));
  auto* sums = static_cast<double*>(scratch);
  ForRanges(threads, LineGroups<T>(shape), ranges, [&](int64_t begin, int64_t end, int range) {
    double sum = 0;
    for (int64_t g = begin; g < end; ++g) {
      const LineGroup group = LineGroupAt<T>(shape, g);
      T losses[kLineGroup<T>];
      loss_of(group, losses);
      for (int64_t i = 0; i < group.count; ++i) {
        if (reduction == LossReduction::kNone) loss[group.first_line + i] = losses[i];
        sum += static_cast<double>(losses[i]);
      }
    }
    sums[range] = sum;
  });
  if (reduction == LossReduction::kNone) return {};
  double sum = 0;
  for (int range = 0; range < ranges; ++range) sum += sums[range];
  *loss = static_cast<T>(reduction == LossReduction::kMean ? sum / total : sum);
  return {};
}

// -weight * log_probability(i, label) for each line that counts, 0 for the others.
template <typename T, typename LogProbability>
void WeighLosses(const LineGroup& group, const LossLabels<T>& labels, T* losses,
                 const LogProbability& log_probability) {
  for (int64_t i = 0; i < group.count; ++i) {
    const int64_t label = labels[group.first_line + i];
    losses[i] = labels.Counts(label) ? -labels.Weight(label) * log_probability(i, label) : T(0);
  }
}

// What each line's gradient is multiplied by.
template <typename T>
struct LossFactors {
  const T* dloss;
  bool per_line;
  double scale;

  T operator()(int64_t line, T weight) const {
    if (weight == T(0)) return T(0);  // also where no line counts and the mean is 0 / 0
    return static_cast<T>(static_cast<double>(dloss[per_line ? line : 0]) *
                          static_cast<double>(weight) * scale);
  }
};

template <typename T>
Result<LossFactors<T>> FactorsOf(const LineShape& shape, const T* dloss,
                                 const LossLabels<T>& labels, LossReduction reduction) {
  HR_ASSIGN_OR_RETURN(const double total, TotalWeight(shape, labels));
  const double scale = reduction == LossReduction::kMean ? 1 / total : 1;
  return LossFactors<T>{dloss, reduction == LossReduction::kNone, scale};
}

template <typename T>
void ClearGroup(const LineShape& shape, const LineGroup& group, T* to) {
  if (group.stride == 1) {  // whole rows
    std::fill_n(to + group.offset, group.count * shape.n, T(0));
    return;
  }
  for (int64_t i = 0; i < shape.n; ++i) {
    std::fill_n(to + group.offset + i * group.stride, group.count, T(0));
  }
}

}  // namespace

template <typename T>
Status SoftmaxCrossEntropyLoss(const Lease& threads, const LineShape& shape, const T* scores,
                               const LossLabels<T>& labels, LossReduction reduction, T* loss,
                               T* log_prob, int ranges, void* scratch) {
  const LineKernels<T>& kernels = KernelsForLines<T>();
  return Reduce(threads, shape, labels, reduction, loss, ranges, scratch,
                [&](const LineGroup& group, T* losses) {
                  T largest[kLineGroup<T>];
                  T log_sum[kLineGroup<T>];
                  kernels.log_sums(shape, scores, group, largest, log_sum);
                  WeighLosses(group, labels, losses, [&](int64_t i, int64_t label) {
                    return scores[ElementOf(group, i, label)] - largest[i] - log_sum[i];
                  });
                  if (log_prob == nullptr) return;
                  kernels.log_probabilities(shape, scores, group, largest, log_sum, log_prob);
                });
}

template <typename T>
Status NegativeLogLikelihoodLoss(const Lease& threads, const LineShape& shape, const T* log_prob,
                                 const LossLabels<T>& labels, LossReduction reduction, T* loss,
                                 int ranges, void* scratch) {
  return Reduce(threads, shape, labels, reduction, loss, ranges, scratch,
                [&](const LineGroup& group, T* losses) {
                  WeighLosses(group, labels, losses, [&](int64_t i, int64_t label) {
                    return log_prob[ElementOf(group, i, label)];
                  });
                });
}

template <typename T>
Status SoftmaxCrossEntropyLossGrad(const Lease& threads, const LineShape& shape, const T* dloss,
                                   const T* log_prob, const LossLabels<T>& labels,
                                   LossReduction reduction, T* dscores, int ranges) {
  HR_ASSIGN_OR_RETURN(const auto factor_of, FactorsOf(shape, dloss, labels, reduction));
  const LineKernels<T>& kernels = KernelsForLines<T>();
  ForRanges(threads, LineGroups<T>(shape), ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t g = begin; g < end; ++g) {
      const LineGroup group = LineGroupAt<T>(shape, g);
      T factors[kLineGroup<T>] = {};
      for (int64_t i = 0; i < group.count; ++i) {
        const int64_t label = labels[group.first_line + i];
        const T weight = labels.Counts(label) ? labels.Weight(label) : T(0);
        factors[i] = factor_of(group.first_line + i, weight);
      }
      kernels.exp_scaled(shape, log_prob, group, factors, dscores);
      for (int64_t i = 0; i < group.count; ++i) {
        const int64_t label = labels[group.first_line + i];
        if (labels.Counts(label)) dscores[ElementOf(group, i, label)] -= factors[i];
      }
    }
  });
  return {};
}

template <typename T>
Status NegativeLogLikelihoodLossGrad(const Lease& threads, const LineShape& shape, const T* dloss,
                                     const LossLabels<T>& labels, LossReduction reduction,
                                     T* dlog_prob, int ranges) {
  HR_ASSIGN_OR_RETURN(const auto factor_of, FactorsOf(shape, dloss, labels, reduction));
  ForRanges(threads, LineGroups<T>(shape), ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t g = begin; g < end; ++g) {
      const LineGroup group = LineGroupAt<T>(shape, g);
      ClearGroup(shape, group, dlog_prob);
      for (int64_t i = 0; i < group.count; ++i) {
        const int64_t line = group.first_line + i;
        const int64_t label = labels[line];
        if (!labels.Counts(label)) continue;
        dlog_prob[ElementOf(group, i, label)] = -factor_of(line, labels.Weight(label));
      }
    }
  });
  return {};
}

#define HR_INSTANTIATE(T)                                                                         \
  template Status SoftmaxCrossEntropyLoss(const Lease&, const LineShape&, const T*,               \
                                          const LossLabels<T>&, LossReduction, T*, T*, int,       \
                                          void*);                                                 \
  template Status NegativeLogLikelihoodLoss(const Lease&, const LineShape&, const T*,             \
                                            const LossLabels<T>&, LossReduction, T*, int, void*); \
  template Status SoftmaxCrossEntropyLossGrad(const Lease&, const LineShape&, const T*, const T*, \
                                              const LossLabels<T>&, LossReduction, T*, int);      \
  template Status NegativeLogLikelihoodLossGrad(const Lease&, const LineShape&, const T*,         \
                                                const LossLabels<T>&, LossReduction, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
