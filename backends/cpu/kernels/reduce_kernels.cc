#include "backends/cpu/kernels/reduce_kernels.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/reduce_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
template <typename T>
constexpr bool kFloating = std::is_floating_point_v<T>;

template <typename T>
HWY_INLINE Vector<T> Multiply(Vector<T> a, Vector<T> b) {
  if constexpr (kFloating<T> || sizeof(T) == 4) {
    return hn::Mul(a, b);
  } else {  // no such instruction before AVX-512
    const Tag<T> d;
    HWY_ALIGN T left[kLanes<T>], right[kLanes<T>];
    hn::Store(a, d, left);
    hn::Store(b, d, right);
    for (int64_t i = 0; i < kLanes<T>; ++i) {
      left[i] = static_cast<T>(static_cast<uint64_t>(left[i]) * static_cast<uint64_t>(right[i]));
    }
    return hn::Load(d, left);
  }
}

// The larger, or smaller, of a and v; NaN where either is.
template <typename T, bool larger>
HWY_INLINE Vector<T> Extreme(Vector<T> a, Vector<T> v) {
  if constexpr (kFloating<T>) {
    const auto better = larger ? hn::Gt(v, a) : hn::Lt(v, a);
    return hn::IfThenElse(hn::Or(better, hn::IsNaN(v)), v, a);
  } else {
    return larger ? hn::Max(a, v) : hn::Min(a, v);
  }
}

// The first vector of lanes that a fold starts with, how elements enter it, and how two meet.
template <typename T, Fold fold>
struct Folding {
  static constexpr bool kExtreme = fold == Fold::kMax || fold == Fold::kMin;

  static T Start() {
    using Limits = std::numeric_limits<T>;
    if (fold == Fold::kProd) return T(1);
    if (fold == Fold::kMax) return kFloating<T> ? -Limits::infinity() : Limits::lowest();
    if (fold == Fold::kMin) return kFloating<T> ? Limits::infinity() : Limits::max();
    return T(0);
  }

  static HWY_INLINE Vector<T> Enter(Vector<T> v, Vector<T> shift) {
    if constexpr (fold == Fold::kSumSquare) return Multiply<T>(v, v);
    if constexpr (fold == Fold::kSumAbs && kFloating<T>) return hn::Abs(v);
    if constexpr (fold == Fold::kSumAbs && !kFloating<T>) {
      return hn::Max(v, hn::Sub(hn::Zero(Tag<T>()), v));
    }
    if constexpr (fold == Fold::kSumExp) {
      const auto x = hn::Sub(v, shift);
      return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(Tag<T>(), x));
    }
    return v;
  }

  static HWY_INLINE Vector<T> Meet(Vector<T> a, Vector<T> b) {
    if constexpr (kExtreme) return Extreme<T, fold == Fold::kMax>(a, b);
    if constexpr (fold == Fold::kProd) return Multiply<T>(a, b);
    return hn::Add(a, b);
  }

  static T OverLanes(Vector<T> v) {
    const Tag<T> d;
    if constexpr (!kExtreme && fold != Fold::kProd) return hn::GetLane(hn::SumOfLanes(d, v));
    HWY_ALIGN T lanes[kLanes<T>];
    hn::Store(v, d, lanes);
    for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lanes[i] = MeetOne(lanes[i], lanes[i + half]);
    }
    return lanes[0];
  }

 private:
  static T MeetOne(T a, T b) {
    if (fold == Fold::kProd) {
      if constexpr (kFloating<T>) return a * b;
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
    const bool better = fold == Fold::kMax ? b > a : b < a;
    return better || b != b ? b : a;
  }
};

// Several vectors that are folded side by side.
template <typename T, int count>
struct Accumulators {
  Vector<T> v[count];
};

template <typename F, typename T, int count>
HWY_INLINE Accumulators<T, count> Started() {
  Accumulators<T, count> sums;
  for (int i = 0; i < count; ++i) sums.v[i] = hn::Set(Tag<T>(), F::Start());
  return sums;
}

template <typename F, typename T, int count>
HWY_INLINE void MeetInto(Accumulators<T, count>& a, const Accumulators<T, count>& b) {
  for (int i = 0; i < count; ++i) a.v[i] = F::Meet(a.v[i], b.v[i]);
}

// A strip is what is folded in registers: a row, or some columns. FoldSteps takes its steps
// [begin, end), at most kSteps of them.

template <typename T, typename F>
struct RowStrip {
  using Folds = F;
  static constexpr int kVectors = 4;
  static constexpr int64_t kSteps = 64 * kVectors * kLanes<T>;
  using Acc = Accumulators<T, kVectors>;
  Vector<T> shift;

  HWY_INLINE Acc FoldSteps(const T* x, int64_t begin, int64_t end) const {
    const Tag<T> d;
    Acc acc = Started<F, T, kVectors>();
    int64_t i = begin;
    for (; i + kVectors * kLanes<T> <= end; i += kVectors * kLanes<T>) {
      for (int k = 0; k < kVectors; ++k) {
        acc.v[k] = F::Meet(acc.v[k], F::Enter(hn::LoadU(d, x + i + k * kLanes<T>), shift));
      }
    }
    for (; i + kLanes<T> <= end; i += kLanes<T>) {
      acc.v[0] = F::Meet(acc.v[0], F::Enter(hn::LoadU(d, x + i), shift));
    }
    if (i == end) return acc;
    const PartialVector<Tag<T>> part(end - i);
    const auto entered = F::Enter(part.Load(x + i), shift);
    acc.v[1] = F::Meet(acc.v[1], hn::IfThenElse(part.mask, entered, hn::Set(Tag<T>(), F::Start())));
    return acc;
  }
};

// `count` vectors of columns; of the last one `part` lanes where it is not null.
template <typename T, typename F, int count>
struct ColumnStrip {
  using Folds = F;
  static constexpr int64_t kSteps = 64;
  using Acc = Accumulators<T, count>;
  int64_t stride;
  const PartialVector<Tag<T>>* part;
  Acc shift;

  HWY_INLINE Acc FoldSteps(const T* x, int64_t begin, int64_t end) const {
    Acc acc = Started<F, T, count>();
    const T* from = x + begin * stride;
    for (int64_t i = begin; i < end; ++i, from += stride) {
      for (int k = 0; k < count; ++k) {
        acc.v[k] = F::Meet(acc.v[k], F::Enter(Load(from + k * kLanes<T>), shift.v[k]));
      }
    }
    return acc;
  }
  HWY_INLINE Vector<T> Load(const T* from) const {
    if constexpr (count == 1) {
      if (part != nullptr) return part->Load(from);
    }
    return hn::LoadU(Tag<T>(), from);
  }
};

// Folds are taken by halves, so that the error of a sum grows with the logarithm of the count. Both
// functions call themselves: inlined into each other and themselves they would take a megabyte.

constexpr int64_t MiddleOf(int64_t begin, int64_t end, int64_t leaf) {
  return begin + (end - begin + leaf - 1) / leaf / 2 * leaf;
}

// Steps [begin, end) of the innermost axis.
template <typename Strip, typename T>
HWY_NOINLINE typename Strip::Acc FoldSteps(const Strip& strip, const T* x, int64_t begin,
                                           int64_t end) {
  if (end - begin <= Strip::kSteps) return strip.FoldSteps(x, begin, end);
  const int64_t middle = MiddleOf(begin, end, Strip::kSteps);
  auto acc = FoldSteps(strip, x, begin, middle);
  MeetInto<typename Strip::Folds>(acc, FoldSteps(strip, x, middle, end));
  return acc;
}

// Elements [begin, end) of the other reduced axes, the innermost one whole.
template <typename Strip, typename T>
HWY_NOINLINE typename Strip::Acc FoldElements(const Strip& strip, const ReduceShape& shape,
                                              const T* x, int64_t begin, int64_t end) {
  using F = typename Strip::Folds;
  constexpr int64_t kLeaf = 64;
  if (end - begin > kLeaf) {
    const int64_t middle = MiddleOf(begin, end, kLeaf);
    auto acc = FoldElements(strip, shape, x, begin, middle);
    MeetInto<F>(acc, FoldElements(strip, shape, x, middle, end));
    return acc;
  }
  typename Strip::Acc acc = FoldSteps(strip, x, 0, 0);
  for (int64_t i = begin; i < end; ++i) {
    MeetInto<F>(acc, FoldSteps(strip, x + shape.reduced.Offset(i), 0, shape.length));
  }
  return acc;
}

// All elements of one output, or of one output of each column of the strip.
template <typename Strip, typename T>
HWY_INLINE typename Strip::Acc FoldAll(const Strip& strip, const ReduceShape& shape, const T* x) {
  if (shape.reduced.count == 0) return FoldSteps(strip, x, 0, shape.length);
  return FoldElements(strip, shape, x, 0, shape.reduced.elements());
}

template <typename T, Fold fold>
void FoldRows(const ReduceShape& shape, const T* x, const T* shift, T* y, int64_t begin,
              int64_t end) {
  using F = Folding<T, fold>;
  const Tag<T> d;
  for (int64_t o = begin; o < end; ++o) {
    RowStrip<T, F> strip{hn::Zero(d)};
    if (fold == Fold::kSumExp) strip.shift = hn::Set(d, shift[o]);
    const auto acc = FoldAll(strip, shape, x + shape.kept.Offset(o));
    y[o] = F::OverLanes(F::Meet(F::Meet(acc.v[0], acc.v[1]), F::Meet(acc.v[2], acc.v[3])));
  }
}

template <typename T, typename F, int count>
HWY_INLINE void FoldColumnVectors(const ReduceShape& shape, const T* x, const T* shift, T* y,
                                  const PartialVector<Tag<T>>* part) {
  const Tag<T> d;
  ColumnStrip<T, F, count> strip{shape.stride, part, {}};
  for (int k = 0; k < count; ++k) {
    strip.shift.v[k] = shift == nullptr  ? hn::Zero(d)
                       : part != nullptr ? part->Load(shift)
                                         : hn::LoadU(d, shift + k * kLanes<T>);
  }
  const auto acc = FoldAll(strip, shape, x);
  if (part != nullptr) {
    part->Store(acc.v[0], y);
    return;
  }
  for (int k = 0; k < count; ++k) hn::StoreU(acc.v[k], d, y + k * kLanes<T>);
}

template <typename T, Fold fold>
void FoldColumns(const ReduceShape& shape, const T* x, const T* shift, T* y, int64_t begin,
                 int64_t end) {
  using F = Folding<T, fold>;
  constexpr int kWide = 8;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t output = FirstOutput<T>(shape, unit);
    int64_t left = std::min(kColumnBlock<T>, shape.columns - output % shape.columns);
    const T* from = x + shape.kept.Offset(output / shape.columns) + output % shape.columns;
    const T* moved = fold == Fold::kSumExp ? shift + output : nullptr;
    T* to = y + output;
    const auto next = [&](int64_t columns) {
      from += columns;
      to += columns;
      if (moved != nullptr) moved += columns;
      left -= columns;
    };
    for (; left >= kWide * kLanes<T>; next(kWide * kLanes<T>)) {
      FoldColumnVectors<T, F, kWide>(shape, from, moved, to, nullptr);
    }
    for (; left >= kLanes<T>; next(kLanes<T>)) {
      FoldColumnVectors<T, F, 1>(shape, from, moved, to, nullptr);
    }
    if (left == 0) continue;
    const PartialVector<Tag<T>> part(left);
    FoldColumnVectors<T, F, 1>(shape, from, moved, to, &part);
  }
}

template <typename T, Fold fold>
constexpr void Fill(FoldKernels<T>& table) {
  table.rows[static_cast<int>(fold)] = &FoldRows<T, fold>;
  table.columns[static_cast<int>(fold)] = &FoldColumns<T, fold>;
}

template <typename T>
constexpr FoldKernels<T> MakeTable() {
  FoldKernels<T> table{};
  Fill<T, Fold::kSum>(table);
  Fill<T, Fold::kSumSquare>(table);
  Fill<T, Fold::kSumAbs>(table);
  Fill<T, Fold::kMax>(table);
  Fill<T, Fold::kMin>(table);
  Fill<T, Fold::kProd>(table);
  if constexpr (kFloating<T>) Fill<T, Fold::kSumExp>(table);
  return table;
}

template <typename T>
const FoldKernels<T>& TableOf() {
  static constexpr FoldKernels<T> kTable = MakeTable<T>();
  return kTable;
}
}  // namespace

const FoldKernels<float>& FloatReduce() { return TableOf<float>(); }
const FoldKernels<double>& DoubleReduce() { return TableOf<double>(); }
const FoldKernels<int32_t>& Int32Reduce() { return TableOf<int32_t>(); }
const FoldKernels<int64_t>& Int64Reduce() { return TableOf<int64_t>(); }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatReduce);
HWY_EXPORT(DoubleReduce);
HWY_EXPORT(Int32Reduce);
HWY_EXPORT(Int64Reduce);

template <>
const FoldKernels<float>& KernelsForReduce() {
  return HWY_DYNAMIC_DISPATCH(FloatReduce)();
}
template <>
const FoldKernels<double>& KernelsForReduce() {
  return HWY_DYNAMIC_DISPATCH(DoubleReduce)();
}
template <>
const FoldKernels<int32_t>& KernelsForReduce() {
  return HWY_DYNAMIC_DISPATCH(Int32Reduce)();
}
template <>
const FoldKernels<int64_t>& KernelsForReduce() {
  return HWY_DYNAMIC_DISPATCH(Int64Reduce)();
}

}  // namespace hr::cpu
#endif
