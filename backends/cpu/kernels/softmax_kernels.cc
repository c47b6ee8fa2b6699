#include "backends/cpu/kernels/softmax_kernels.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/softmax_kernels.cc"
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
using Tag = hn::CappedTag<T, kLineGroup<T>>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag<T>()));

template <typename T>
using Whole = WholeLanes<Tag<T>>;
template <typename T>
using First = FirstLanes<Tag<T>>;

// One line along the lanes. ForEach calls visit(offset, lanes) for each of its vectors.
template <typename T>
struct ContiguousLine {
  int64_t n;

  template <typename Visit>
  HWY_INLINE void ForEach(const Visit& visit) const {
    ForVectors<Tag<T>>(n, visit);
  }
  static Vector<T> Sum(Vector<T> v) { return hn::SumOfLanes(Tag<T>(), v); }
  static Vector<T> Largest(Vector<T> v) { return hn::MaxOfLanes(Tag<T>(), v); }
};

// As many lines as there are lanes, side by side.
template <typename T, typename Lanes>
struct AdjacentLines {
  int64_t n, stride;
  Lanes lanes;

  template <typename Visit>
  HWY_INLINE void ForEach(const Visit& visit) const {
    for (int64_t i = 0, offset = 0; i < n; ++i, offset += stride) visit(offset, lanes);
  }
  static Vector<T> Sum(Vector<T> v) { return v; }
  static Vector<T> Largest(Vector<T> v) { return v; }
};

// Calls body(offset, position, lines) for the lines of a group: one row, or a vector of columns, at
// a time. `position` counts lines from the group's first.
template <typename T, typename Body>
HWY_INLINE void ForLines(const LineShape& shape, const LineGroup& group, const Body& body) {
  if (shape.inner == 1) {
    for (int64_t i = 0; i < group.count; ++i) {
      body(group.offset + i * group.step, i, ContiguousLine<T>{shape.n});
    }
    return;
  }
  int64_t i = 0;
  for (; i + kLanes<T> <= group.count; i += kLanes<T>) {
    body(group.offset + i, i, AdjacentLines<T, Whole<T>>{shape.n, group.stride, {}});
  }
  if (i < group.count) {
    const First<T> lanes(group.count - i);
    body(group.offset + i, i, AdjacentLines<T, First<T>>{shape.n, group.stride, lanes});
  }
}

// exp(x) for x up to 0, and NaN for NaN.
template <typename T>
HWY_INLINE Vector<T> Exp(Vector<T> x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(Tag<T>(), x));
}

template <typename T, typename Lines>
HWY_INLINE Vector<T> LargestOf(const Lines& lines, const T* x) {
  const auto least = hn::Set(Tag<T>(), -std::numeric_limits<T>::infinity());
  auto largest = least;
  lines.ForEach([&](int64_t i, const auto& lanes)
                    HWY_ATTR { largest = hn::Max(largest, lanes.Keep(lanes.Load(x + i), least)); });
  return lines.Largest(largest);
}

// The sum of exp(x - largest), each of which `use` sees.
template <typename T, typename Lines, typename Use>
HWY_INLINE Vector<T> SumOfExp(const Lines& lines, const T* x, Vector<T> largest, const Use& use) {
  const auto zero = hn::Zero(Tag<T>());
  auto sum = zero;
  lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto e = Exp<T>(hn::Sub(lanes.Load(x + i), largest));
    use(i, lanes, e);
    sum = hn::Add(sum, lanes.Keep(e, zero));
  });
  return lines.Sum(sum);
}

// A line of one vector stays in registers: reading back what was stored in part is slow.
template <typename T, typename Lanes>
HWY_INLINE void SoftmaxOfOne(const ContiguousLine<T>& row, const Lanes& lanes, const T* x, T* y) {
  const auto least = hn::Set(Tag<T>(), -std::numeric_limits<T>::infinity());
  const auto value = lanes.Keep(lanes.Load(x), least);
  const auto e = lanes.Keep(Exp<T>(hn::Sub(value, row.Largest(value))), hn::Zero(Tag<T>()));
  lanes.Store(hn::Div(e, row.Sum(e)), y);
}

template <typename T, typename Lines>
HWY_INLINE void SoftmaxOf(const Lines& lines, const T* x, T* y) {
  const auto sum = SumOfExp<T>(lines, x, LargestOf<T>(lines, x),
                               [&](int64_t i, const auto& lanes, Vector<T> e)
                                   HWY_ATTR { lanes.Store(e, y + i); });
  const auto scale = hn::Div(hn::Set(Tag<T>(), T(1)), sum);
  lines.ForEach([&](int64_t i, const auto& lanes)
                    HWY_ATTR { lanes.Store(hn::Mul(lanes.Load(y + i), scale), y + i); });
}

template <typename T>
void Softmax(const LineShape& shape, const T* x, T* y, int64_t begin, int64_t end) {
  if (shape.inner == 1 && shape.n > 0 && shape.n < kLanes<T>) {
    const First<T> lanes(shape.n);
    const int64_t last = std::min(shape.outer, end * kLineGroup<T>);
    for (int64_t o = begin * kLineGroup<T>; o < last; ++o) {
      SoftmaxOfOne(ContiguousLine<T>{shape.n}, lanes, x + o * shape.n, y + o * shape.n);
    }
    return;
  }
  for (int64_t g = begin; g < end; ++g) {
    ForLines<T>(shape, LineGroupAt<T>(shape, g),
                [&](int64_t offset, int64_t, const auto& lines)
                    HWY_ATTR { SoftmaxOf<T>(lines, x + offset, y + offset); });
  }
}

// The logarithm of sums that are at least 1, and NaN for NaN, in place.
template <typename T>
HWY_INLINE void LogInPlace(T* values) {
  const Tag<T> d;
  for (int64_t i = 0; i < kLineGroup<T>; i += kLanes<T>) {
    const auto x = hn::LoadU(d, values + i);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(x), x, hn::Log(d, x)), d, values + i);
  }
}

// One value for a row, a vector of them for columns.
template <typename T>
HWY_INLINE Vector<T> LoadOf(const ContiguousLine<T>&, const T* from) {
  return hn::Set(Tag<T>(), *from);
}
template <typename T, typename Lanes>
HWY_INLINE Vector<T> LoadOf(const AdjacentLines<T, Lanes>&, const T* from) {
  return hn::LoadU(Tag<T>(), from);
}
template <typename T>
HWY_INLINE void StoreOf(const ContiguousLine<T>&, Vector<T> value, T* to) {
  *to = hn::GetLane(value);
}
template <typename T, typename Lanes>
HWY_INLINE void StoreOf(const AdjacentLines<T, Lanes>&, Vector<T> value, T* to) {
  hn::StoreU(value, Tag<T>(), to);
}

template <typename T>
void LogSums(const LineShape& shape, const T* x, const LineGroup& group, T* largest, T* log_sum) {
  for (int64_t i = group.count; i < kLineGroup<T>; ++i) log_sum[i] = T(1);
  ForLines<T>(shape, group, [&](int64_t offset, int64_t line, const auto& lines) HWY_ATTR {
    const auto most = LargestOf<T>(lines, x + offset);
    const auto ignore = [](int64_t, const auto&, Vector<T>) HWY_ATTR {};
    StoreOf(lines, most, largest + line);
    StoreOf(lines, SumOfExp<T>(lines, x + offset, most, ignore), log_sum + line);
  });
  LogInPlace(log_sum);
}

template <typename T>
void LogProbabilities(const LineShape& shape, const T* x, const LineGroup& group, const T* largest,
                      const T* log_sum, T* y) {
  ForLines<T>(shape, group, [&](int64_t offset, int64_t line, const auto& lines) HWY_ATTR {
    const auto most = LoadOf(lines, largest + line);
    const auto log = LoadOf(lines, log_sum + line);
    lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR {
      const auto value = hn::Sub(hn::Sub(lanes.Load(x + offset + i), most), log);
      lanes.Store(value, y + offset + i);
    });
  });
}

template <typename T>
void LogSoftmax(const LineShape& shape, const T* x, T* y, int64_t begin, int64_t end) {
  for (int64_t g = begin; g < end; ++g) {
    const LineGroup group = LineGroupAt<T>(shape, g);
    T largest[kLineGroup<T>];
    T log_sum[kLineGroup<T>];
    LogSums(shape, x, group, largest, log_sum);
    LogProbabilities(shape, x, group, largest, log_sum, y);
  }
}

// The sum of term(offset, lanes); lanes beyond the line's end must come out 0.
template <typename T, typename Lines, typename Term>
HWY_INLINE Vector<T> SumOf(const Lines& lines, const Term& term) {
  auto sum = hn::Zero(Tag<T>());
  lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR { sum = hn::Add(sum, term(i, lanes)); });
  return lines.Sum(sum);
}

template <typename T>
void SoftmaxGrad(const LineShape& shape, const T* dy, const T* y, T* dx, int64_t begin,
                 int64_t end) {
  for (int64_t g = begin; g < end; ++g) {
    ForLines<T>(shape, LineGroupAt<T>(shape, g),
                [&](int64_t o, int64_t, const auto& lines) HWY_ATTR {
                  const auto sum = SumOf<T>(lines, [&](int64_t i, const auto& lanes) HWY_ATTR {
                    return hn::Mul(lanes.Load(dy + o + i), lanes.Load(y + o + i));
                  });
                  lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR {
                    const auto rest = hn::Sub(lanes.Load(dy + o + i), sum);
                    lanes.Store(hn::Mul(lanes.Load(y + o + i), rest), dx + o + i);
                  });
                });
  }
}

template <typename T>
void LogSoftmaxGrad(const LineShape& shape, const T* dy, const T* y, T* dx, int64_t begin,
                    int64_t end) {
  for (int64_t g = begin; g < end; ++g) {
    ForLines<T>(
        shape, LineGroupAt<T>(shape, g), [&](int64_t o, int64_t, const auto& lines) HWY_ATTR {
          const auto sum = SumOf<T>(
              lines, [&](int64_t i, const auto& lanes) HWY_ATTR { return lanes.Load(dy + o + i); });
          lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR {
            const auto e = Exp<T>(lanes.Load(y + o + i));
            lanes.Store(hn::NegMulAdd(e, sum, lanes.Load(dy + o + i)), dx + o + i);
          });
        });
  }
}

template <typename T>
void ExpScaled(const LineShape& shape, const T* x, const LineGroup& group, const T* factors, T* y) {
  ForLines<T>(shape, group, [&](int64_t offset, int64_t line, const auto& lines) HWY_ATTR {
    const auto factor = LoadOf(lines, factors + line);
    lines.ForEach([&](int64_t i, const auto& lanes) HWY_ATTR {
      const auto e = Exp<T>(lanes.Load(x + offset + i));
      lanes.Store(hn::Mul(e, factor), y + offset + i);
    });
  });
}

template <typename T>
constexpr LineKernels<T> MakeTable() {
  return {.softmax = &Softmax<T>,
          .log_softmax = &LogSoftmax<T>,
          .softmax_grad = &SoftmaxGrad<T>,
          .log_softmax_grad = &LogSoftmaxGrad<T>,
          .log_sums = &LogSums<T>,
          .log_probabilities = &LogProbabilities<T>,
          .exp_scaled = &ExpScaled<T>};
}

}  // namespace

const LineKernels<float>& FloatLines() {
  static constexpr LineKernels<float> kTable = MakeTable<float>();
  return kTable;
}

const LineKernels<double>& DoubleLines() {
  static constexpr LineKernels<double> kTable = MakeTable<double>();
  return kTable;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatLines);
HWY_EXPORT(DoubleLines);

template <>
const LineKernels<float>& KernelsForLines() {
  return HWY_DYNAMIC_DISPATCH(FloatLines)();
}

template <>
const LineKernels<double>& KernelsForLines() {
  return HWY_DYNAMIC_DISPATCH(DoubleLines)();
}

}  // namespace hr::cpu
#endif
