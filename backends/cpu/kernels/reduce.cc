#include "backends/cpu/kernels/reduce.h"

#include <cmath>
#include <vector>

#include "backends/cpu/kernels/ranges.h"
#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

struct Group {
  int64_t dim, stride;
  bool reduced;
};

// Axes of size 1 dropped, neighbours that are both reduced or both kept joined.
std::vector<Group> GroupsOf(std::span<const int64_t> dims, const std::vector<bool>& reduced) {
  std::vector<Group> groups;  // innermost first
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[i]) {
      groups.back().dim *= dims[i];
    } else {
      groups.push_back({dims[i], stride, reduced[i]});
    }
    stride *= dims[i];
  }
  return groups;
}

ReduceShape ShapeOf(const std::vector<Group>& groups) {
  ReduceShape shape;
  size_t inner = groups.size();  // the innermost reduced group
  for (size_t i = groups.size(); i-- > 0;) {
    if (groups[i].reduced) inner = i;
  }
  for (size_t i = groups.size(); i-- > 0;) {  // outermost first
    const Group& group = groups[i];
    if (i == inner) {
      shape.length = group.dim;
      shape.stride = group.stride;
    } else if (group.reduced) {
      shape.reduced.Add(group.dim, group.stride);
    } else if (i == 0) {
      shape.columns = group.dim;
    } else {
      shape.kept.Add(group.dim, group.stride);
    }
  }
  return shape;
}

Fold FoldOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax: return Fold::kMax;
    case Reduction::kMin: return Fold::kMin;
    case Reduction::kProd: return Fold::kProd;
    case Reduction::kSumSquare:
    case Reduction::kL2: return Fold::kSumSquare;
    case Reduction::kL1: return Fold::kSumAbs;
    case Reduction::kLogSumExp: return Fold::kSumExp;
    case Reduction::kSum:
    case Reduction::kMean:
    case Reduction::kLogSum: break;
  }
  return Fold::kSum;
}

// How the results of parts meet.
Fold MeetingOf(Fold fold) {
  return fold == Fold::kMax || fold == Fold::kMin || fold == Fold::kProd ? fold : Fold::kSum;
}

template <typename T>
void FoldUnits(Fold fold, const ReduceShape& shape, const T* x, const T* shift, T* y, int64_t begin,
               int64_t end) {
  const FoldKernels<T>& kernels = KernelsForReduce<T>();
  const auto* table = shape.rows() ? kernels.rows : kernels.columns;
  table[static_cast<int>(fold)](shape, x, shift, y, begin, end);
}

// The shape of one part, and where it begins in x.
ReduceShape ShapeOfPart(const ReducePlan& plan, int part, int64_t* offset) {
  ReduceShape shape = plan.shape;
  const bool inner = plan.split < 0;
  int64_t& dim = inner ? shape.length : shape.reduced.dims[plan.split];
  const int64_t stride = inner ? shape.stride : shape.reduced.strides[plan.split];
  const Range range = PartOf(dim, plan.parts, part);
  *offset = range.begin * stride;
  dim = range.size();
  return shape;
}

// All outputs, by parts that then meet. `partial` has room for parts * outputs.
template <typename T>
void FoldParts(const Lease& threads, const ReducePlan& plan, Fold fold, const T* x, const T* shift,
               T* y, T* partial) {
  const int64_t outputs = plan.shape.outputs();
  const int64_t units = ReduceUnits<T>(plan.shape);
  threads.ParallelFor(plan.parts, [&](int part) {
    int64_t offset;
    const ReduceShape shape = ShapeOfPart(plan, part, &offset);
    FoldUnits(fold, shape, x + offset, shift, partial + part * outputs, 0, units);
  });
  ReduceShape meeting{.length = plan.parts, .stride = outputs, .columns = outputs};
  FoldUnits<T>(MeetingOf(fold), meeting, partial, nullptr, y, 0, ReduceUnits<T>(meeting));
}

template <typename T>
T Finished(Reduction reduction, T value, int64_t count) {
  if (reduction == Reduction::kMean) {
    if constexpr (std::is_integral_v<T>) return count == 0 ? 0 : value / static_cast<T>(count);
    return value / static_cast<T>(count);
  }
  if (reduction == Reduction::kL2) return static_cast<T>(std::sqrt(value));
  if (reduction == Reduction::kLogSum) return static_cast<T>(std::log(value));
  return value;
}

template <typename T>
void Finish(const ReducePlan& plan, const T* shift, T* y, int64_t begin, int64_t end) {
  if (plan.reduction == Reduction::kLogSumExp) {
    for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(std::log(y[i])) + shift[i];
    return;
  }
  const bool finishes = plan.reduction == Reduction::kMean || plan.reduction == Reduction::kL2 ||
                        plan.reduction == Reduction::kLogSum;
  if (!finishes) return;
  const int64_t count = plan.shape.per_output();
  for (int64_t i = begin; i < end; ++i) y[i] = Finished(plan.reduction, y[i], count);
}

// Turns the largest elements into what can be subtracted: infinities would make NaN.
template <typename T>
void MakeFinite(T* shift, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (std::isinf(static_cast<double>(shift[i]))) shift[i] = T(0);
  }
}

}  // namespace

template <typename T>
Result<ReducePlan> PlanReduce(Reduction reduction, std::span<const int64_t> dims,
                              const std::vector<bool>& reduced, int slices) {
  const std::vector<Group> groups = GroupsOf(dims, reduced);
  if (groups.size() > 2 * kMaxAxes) {
    return Unimplemented("reductions take up to ", 2 * kMaxAxes,
                         " axes that alternate between reduced and kept, got shape ",
                         ShapeText(dims));
  }
  ReducePlan plan{.shape = ShapeOf(groups), .reduction = reduction};
  const int64_t outputs = plan.shape.outputs();
  if (reduction == Reduction::kLogSumExp) plan.scratch_bytes = sizeof(T) * outputs;
  const int64_t units = ReduceUnits<T>(plan.shape);
  if (units == 0) return plan;
  const int64_t per_output = plan.shape.per_output();
  plan.ranges = RangeCount(units, per_output * outputs / units, slices);
  if (units >= slices) return plan;
  int64_t longest = plan.shape.length;
  for (int i = 0; i < plan.shape.reduced.count; ++i) {
    if (plan.shape.reduced.dims[i] <= longest) continue;
    longest = plan.shape.reduced.dims[i];
    plan.split = i;
  }
  if (longest == 0) return plan;
  plan.parts = RangeCount(longest, per_output * outputs / longest, slices);
  if (plan.parts > 1) plan.scratch_bytes += sizeof(T) * static_cast<size_t>(plan.parts * outputs);
  return plan;
}

template <typename T>
void Reduce(const Lease& threads, const ReducePlan& plan, const T* x, T* y, void* scratch) {
  const ReduceShape& shape = plan.shape;
  const int64_t units = ReduceUnits<T>(shape);
  const int64_t outputs = shape.outputs();
  if (units == 0) return;
  const Fold fold = FoldOf(plan.reduction);
  const bool shifts = fold == Fold::kSumExp;
  T* shift = shifts ? static_cast<T*>(scratch) : nullptr;
  if (plan.parts > 1) {
    T* partial = static_cast<T*>(scratch) + (shifts ? outputs : 0);
    if (shifts) {
      FoldParts<T>(threads, plan, Fold::kMax, x, nullptr, shift, partial);
      MakeFinite(shift, 0, outputs);
    }
    FoldParts<T>(threads, plan, fold, x, shift, y, partial);
    Finish(plan, shift, y, 0, outputs);
    return;
  }
  ForRanges(threads, units, plan.ranges, [&](int64_t begin, int64_t end, int) {
    const int64_t first = FirstOutput<T>(shape, begin);
    const int64_t last = FirstOutput<T>(shape, end);
    if (shifts) {
      FoldUnits<T>(Fold::kMax, shape, x, nullptr, shift, begin, end);
      MakeFinite(shift, first, last);
    }
    FoldUnits<T>(fold, shape, x, shift, y, begin, end);
    Finish(plan, shift, y, first, last);
  });
}

#define HR_INSTANTIATE(T)                                                        \
  template Result<ReducePlan> PlanReduce<T>(Reduction, std::span<const int64_t>, \
                                            const std::vector<bool>&, int);      \
  template void Reduce(const Lease&, const ReducePlan&, const T*, T*, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
HR_INSTANTIATE(int32_t);
HR_INSTANTIATE(int64_t);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
