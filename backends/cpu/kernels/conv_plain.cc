#include "backends/cpu/kernels/conv_plain.h"

#include "backends/cpu/kernels/im2col.h"

namespace hr::cpu {
namespace {

// The matrix of columns should stay in the L2 cache, but have enough pixels for the product to
// reuse the weights.
constexpr int64_t kColumnBytes = 512 << 10;
constexpr int64_t kLeastPixels = 256;

// The threads that work on one matrix product.
struct Team {
  const Lease& threads;
  int slices;
  void* scratch;
};

// Products of (part of) one group of one image. With enough of them each has one thread; else they
// go one after the other, each on all threads.
template <typename T>
class PlainConv {
 public:
  PlainConv(const ConvShape& shape, int slices)
      : s_(shape),
        slices_(slices),
        pixels_(std::clamp<int64_t>(s_.OutputPlane(), 1, MostPixels(s_.Taps() * sizeof(T)))) {}

  size_t ScratchBytes() const { return std::max(slices_ * TeamBytes(1), TeamBytes(slices_)); }

  void Forward(const Lease& threads, const T* x, const T* w, const T* bias, Activation activation,
               T* y, void* scratch) const {
    const int64_t pieces = CeilDiv(s_.OutputPlane(), pixels_);
    Spread(threads, s_.n * s_.groups * pieces, scratch, [&](int64_t unit, const Team& team) {
      const int64_t image = unit / (s_.groups * pieces), group = unit / pieces % s_.groups;
      const Range pixels = Pixels(unit % pieces);
      const Matrix columns = ColumnsOf(team, Input(x, image, group), pixels);
      GemmEpilogue<T> epilogue;
      epilogue.row_bias = bias != nullptr ? bias + group * s_.GroupOut() : nullptr;
      epilogue.activation = activation;
      Multiply(team,
               {s_.GroupOut(), pixels.size(), s_.Taps(), false, false, s_.Taps(), columns.stride,
                s_.OutputPlane()},
               Weights(w, group), columns.data, Output(y, image, group) + pixels.begin, epilogue);
    });
  }

  void BackwardData(const Lease& threads, const T* dy, const T* w, T* dx, void* scratch) const {
    Spread(threads, s_.n * s_.groups, scratch, [&](int64_t unit, const Team& team) {
      T* const to = Input(dx, unit / s_.groups, unit % s_.groups);
      std::fill_n(to, s_.GroupIn() * s_.InputPlane(), T{0});
      const T* const from = Output(dy, unit / s_.groups, unit % s_.groups);
      T* const columns = static_cast<T*>(team.scratch);
      for (int64_t piece = 0; piece * pixels_ < s_.OutputPlane(); ++piece) {
        const Range pixels = Pixels(piece);
        Multiply(team,
                 {s_.Taps(), pixels.size(), s_.GroupOut(), true, false, s_.Taps(), s_.OutputPlane(),
                  pixels.size()},
                 Weights(w, unit % s_.groups), from + pixels.begin, columns, {});
        ForEachChannelPart(team, [&](Range taps) {
          Col2Im(s_, columns + taps.begin * pixels.size(), taps, pixels, to);
        });
      }
    });
  }

  size_t WeightsScratchBytes() const {
    const int64_t parts = this->parts();
    return ScratchBytes() + (parts > 1 ? static_cast<size_t>(parts * weights()) * sizeof(T) : 0);
  }

  void BackwardWeights(const Lease& threads, const T* dy, const T* x, T* dw, void* scratch) const {
    const int64_t parts = this->parts();
    T* const all = reinterpret_cast<T*>(static_cast<char*>(scratch) + ScratchBytes());
    Spread(threads, parts * s_.groups, scratch, [&](int64_t unit, const Team& team) {
      const int64_t part = unit / s_.groups, group = unit % s_.groups;
      T* const sums = parts == 1 ? dw : all + part * weights();
      SumImages(team, group, PartOf(s_.n, parts, part), dy, x, sums);
    });
    if (parts == 1) return;
    threads.ParallelFor(slices_, [&](int slice) {
      const Range some = PartOf(weights(), slices_, slice);
      AddParts(all + some.begin, weights(), parts, some.size(), dw + some.begin);
    });
  }

 private:
  // Of images, whose sums are kept apart, so that most threads have a part and a group of their
  // own; 1 if there are too few images or such sums take too much memory.
  int64_t parts() const {
    constexpr int64_t kMostBytes = 4 << 20;  // of sums
    const int64_t bytes = std::max<int64_t>(1, weights() * static_cast<int64_t>(sizeof(T)));
    const int64_t wanted = CeilDiv(slices_, std::max<int64_t>(1, s_.groups));
    const int64_t parts = std::min({wanted, s_.n, kMostBytes / bytes});
    return parts < 2 || 2 * parts * s_.groups < slices_ ? 1 : parts;
  }
  int64_t weights() const { return s_.oc * s_.Taps(); }

  // The sum over some images, of a group's weights.
  void SumImages(const Team& team, int64_t group, Range images, const T* dy, const T* x,
                 T* dw) const {
    if (images.size() * s_.OutputPlane() == 0) {
      std::fill_n(Weights(dw, group), s_.GroupOut() * s_.Taps(), T{0});
    }
    GemmEpilogue<T> epilogue;
    for (int64_t image = images.begin; image < images.end; ++image) {
      for (int64_t piece = 0; piece * pixels_ < s_.OutputPlane(); ++piece) {
        const Range pixels = Pixels(piece);
        const Matrix columns = ColumnsOf(team, Input(x, image, group), pixels);
        Multiply(team,
                 {s_.GroupOut(), s_.Taps(), pixels.size(), false, true, s_.OutputPlane(),
                  columns.stride, s_.Taps()},
                 Output(dy, image, group) + pixels.begin, columns.data, Weights(dw, group),
                 epilogue);
        epilogue.beta = 1;
      }
    }
  }

  // Of a column of so many bytes, which may have none: there are images without channels.
  static int64_t MostPixels(size_t bytes) {
    return std::max(kLeastPixels, kColumnBytes / std::max<int64_t>(1, static_cast<int64_t>(bytes)));
  }

  size_t ColumnBytes() const { return RoundUp(s_.Taps() * pixels_ * sizeof(T), 64); }

  size_t TeamBytes(int slices) const {
    const int64_t out = s_.GroupOut(), taps = s_.Taps(), plane = s_.OutputPlane();
    size_t gemm = 0;
    for (const int64_t p : {pixels_, plane - (plane - 1) / pixels_ * pixels_}) {
      const GemmShape passes[] = {{out, p, taps, false, false, taps, p, plane},
                                  {out, p, taps, false, false, taps, plane, plane},
                                  {taps, p, out, true, false, taps, plane, p},
                                  {out, taps, p, false, true, plane, p, taps},
                                  {out, taps, p, false, true, plane, plane, taps}};
      for (const GemmShape& shape : passes)
        gemm = std::max(gemm, GemmScratchBytes<T>(shape, slices));
    }
    return ColumnBytes() + RoundUp(gemm, 64);
  }

  // Calls body(unit, team) for each unit. A unit is cut itself only if most threads would be idle.
  template <typename Body>
  void Spread(const Lease& threads, int64_t units, void* scratch, Body&& body) const {
    if (units < slices_ && (units == 1 || 2 * units < slices_)) {
      for (int64_t unit = 0; unit < units; ++unit) body(unit, Team{threads, slices_, scratch});
      return;
    }
    const int parts = static_cast<int>(std::min<int64_t>(units, slices_));
    threads.ParallelFor(parts, [&](int part) {
      const Lease one;
      const Team team{one, 1, static_cast<char*>(scratch) + part * TeamBytes(1)};
      const Range range = PartOf(units, parts, part);
      for (int64_t unit = range.begin; unit < range.end; ++unit) body(unit, team);
    });
  }

  // Calls body(taps) for the taps of parts of the group's channels.
  template <typename Body>
  void ForEachChannelPart(const Team& team, Body&& body) const {
    team.threads.ParallelFor(team.slices, [&](int slice) {
      const Range channels = PartOf(s_.GroupIn(), team.slices, slice);
      body(Range{channels.begin * s_.KernelSize(), channels.end * s_.KernelSize()});
    });
  }

  struct Matrix {
    const T* data;
    int64_t stride;  // between rows
  };

  // The columns of some pixels; a 1 x 1 convolution has them in place.
  Matrix ColumnsOf(const Team& team, const T* x, Range pixels) const {
    const bool dense = s_.KernelSize() == 1 && s_.sd == 1 && s_.sh == 1 && s_.sw == 1;
    const bool padded = s_.pad_front + s_.pad_top + s_.pad_left != 0;
    if (dense && !padded && s_.id == s_.od && s_.ih == s_.oh && s_.iw == s_.ow) {
      return {x + pixels.begin, s_.InputPlane()};
    }
    T* const columns = static_cast<T*>(team.scratch);
    team.threads.ParallelFor(team.slices, [&](int slice) {
      const Range taps = PartOf(s_.Taps(), team.slices, slice);
      Im2Col(s_, x, taps, pixels, columns + taps.begin * pixels.size());
    });
    return {columns, pixels.size()};
  }

  void Multiply(const Team& team, const GemmShape& shape, const T* a, const T* b, T* c,
                const GemmEpilogue<T>& epilogue) const {
    Gemm(team.threads, shape, a, b, c, epilogue, team.slices,
         static_cast<char*>(team.scratch) + ColumnBytes());
  }

  Range Pixels(int64_t piece) const {
    return {piece * pixels_, std::min(s_.OutputPlane(), (piece + 1) * pixels_)};
  }
  template <typename P>
  P* Input(P* x, int64_t image, int64_t group) const {
    return x + (image * s_.ic + group * s_.GroupIn()) * s_.InputPlane();
  }
  template <typename P>
  P* Output(P* y, int64_t image, int64_t group) const {
    return y + (image * s_.oc + group * s_.GroupOut()) * s_.OutputPlane();
  }
  template <typename P>
  P* Weights(P* w, int64_t group) const {
    return w + group * s_.GroupOut() * s_.Taps();
  }

  const ConvShape& s_;
  const int slices_;
  const int64_t pixels_;
};

// The gradient of the bias: sums over images and pixels.
template <typename T>
void SumChannels(const Lease& threads, const ConvShape& s, const T* dy, T* db, int slices) {
  threads.ParallelFor(slices, [&](int slice) {
    const Range channels = PartOf(s.oc, slices, slice);
    for (int64_t c = channels.begin; c < channels.end; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < s.n; ++n) {
        const T* from = dy + (n * s.oc + c) * s.OutputPlane();
        for (int64_t i = 0; i < s.OutputPlane(); ++i) sum += from[i];
      }
      db[c] = static_cast<T>(sum);
    }
  });
}

}  // namespace

template <typename T>
size_t ConvPlainScratchBytes(const ConvShape& shape, int slices) {
  return PlainConv<T>(shape, slices).ScratchBytes();
}

template <typename T>
size_t ConvPlainWeightsScratchBytes(const ConvShape& shape, int slices) {
  return PlainConv<T>(shape, slices).WeightsScratchBytes();
}

template <typename T>
void ConvPlainForward(const Lease& threads, const ConvShape& shape, const T* x, const T* w,
                      const T* bias, Activation activation, T* y, int slices, void* scratch) {
  PlainConv<T>(shape, slices).Forward(threads, x, w, bias, activation, y, scratch);
}

template <typename T>
void ConvPlainBackwardData(const Lease& threads, const ConvShape& shape, const T* dy, const T* w,
                           T* dx, int slices, void* scratch) {
  PlainConv<T>(shape, slices).BackwardData(threads, dy, w, dx, scratch);
}

template <typename T>
void ConvPlainBackwardWeights(const Lease& threads, const ConvShape& shape, const T* dy, const T* x,
                              T* dw, T* db, int slices, void* scratch) {
  PlainConv<T>(shape, slices).BackwardWeights(threads, dy, x, dw, scratch);
  if (db != nullptr) SumChannels(threads, shape, dy, db, slices);
}

#define HR_INSTANTIATE(T)                                                                          \
  template size_t ConvPlainScratchBytes<T>(const ConvShape&, int);                                 \
  template size_t ConvPlainWeightsScratchBytes<T>(const ConvShape&, int);                          \
  template void ConvPlainForward(const Lease&, const ConvShape&, const T*, const T*, const T*,     \
                                 Activation, T*, int, void*);                                      \
  template void ConvPlainBackwardData(const Lease&, const ConvShape&, const T*, const T*, T*, int, \
                                      void*);                                                      \
  template void ConvPlainBackwardWeights(const Lease&, const ConvShape&, const T*, const T*, T*,   \
                                         T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
