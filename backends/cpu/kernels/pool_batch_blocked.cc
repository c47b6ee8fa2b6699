#include "backends/cpu/kernels/pool_batch_blocked.h"

#include "backends/cpu/kernels/conv_kernels.h"

namespace hr::cpu {
namespace {

// What one channel of one block is read from and written to.
template <typename T>
struct Plane {
  const T* x;
  T* y;
  uint8_t* argmax;
};

// Calls row(call, x offset) for every run of windows that read the same taps.
template <typename T, typename Fn>
void ForEachRun(const PoolShape& s, const Plane<T>& plane, Fn&& row) {
  constexpr int64_t kB = kBatchBlock<T>;
  for (int64_t oh = 0; oh < s.oh; ++oh) {
    const Range rows = ValidRows(s, oh);
    ForEachColumnRun(s, {0, s.ow}, [&](Range run, Range taps) {
      const int64_t ih = oh * s.sh - s.pad_top + rows.begin * s.dh;
      const int64_t iw = run.begin * s.sw - s.pad_left + taps.begin * s.dw;
      const int64_t in = (ih * s.iw + iw) * kB, out = (oh * s.ow + run.begin) * kB;
      PoolCall<T> call{};
      call.x = plane.x != nullptr ? plane.x + in : nullptr;
      call.x_row = s.dh * s.iw * kB;
      call.x_tap = s.dw * kB;
      call.x_column = s.sw * kB;
      call.rows = rows.size();
      call.taps = taps.size();
      call.index = rows.begin * s.kw + taps.begin;
      call.index_row = s.kw;
      call.columns = run.size();
      call.y = plane.y + out;
      call.argmax = plane.argmax != nullptr ? plane.argmax + out : nullptr;
      call.scale = T{1} / static_cast<T>(AverageDivisor(s, oh, run.begin));
      row(call, in);
    });
  }
}

// Calls body(plane number) for every channel of every block.
template <typename T, typename Body>
void ForEachPlane(const Lease& threads, const PoolShape& s, int slices, Body&& body) {
  threads.ParallelFor(slices, [&](int slice) {
    const Range planes = PartOf(BatchBlocks<T>(s.n) * s.c, slices, slice);
    for (int64_t plane = planes.begin; plane < planes.end; ++plane) body(plane);
  });
}

// The part of a map of maxima that starts at an offset; null if there is none.
template <typename Byte>
Byte* PartOfMap(Byte* argmax, int64_t at) {
  return argmax != nullptr ? argmax + at : nullptr;
}

template <typename T>
void ForwardPlane(const PoolShape& s, const T* x, T* y, uint8_t* argmax,
                  void (*kernel)(const PoolCall<T>&)) {
  ForEachRun<T>(s, {x, y, argmax}, [&](const PoolCall<T>& call, int64_t) { kernel(call); });
}

template <typename T>
void BackwardPlane(const PoolShape& s, const T* dy, const uint8_t* argmax, T* dx,
                   void (*kernel)(const PoolCall<T>&, T*)) {
  // The backward kernels only read what forward ones write.
  const Plane<T> plane{nullptr, const_cast<T*>(dy), const_cast<uint8_t*>(argmax)};
  ForEachRun<T>(s, plane, [&](const PoolCall<T>& call, int64_t at) { kernel(call, dx + at); });
}

// Calls body(offset in the input, offset in the output) for every channel of every block.
template <typename T, typename Body>
void ForEachOffset(const Lease& threads, const PoolShape& s, int slices, const Body& body) {
  const int64_t in = s.InputPlane() * kBatchBlock<T>, out = s.OutputPlane() * kBatchBlock<T>;
  ForEachPlane<T>(threads, s, slices, [&](int64_t p) { body(p * in, p * out); });
}

template <typename T>
T* Cleared(const PoolShape& s, T* dx) {
  std::fill_n(dx, s.InputPlane() * kBatchBlock<T>, T{0});
  return dx;
}

}  // namespace

PoolShape GlobalPool(int64_t n, int64_t c, int64_t ih, int64_t iw) {
  PoolShape s;
  s.n = n, s.c = c;
  s.ih = s.kh = ih;
  s.iw = s.kw = iw;
  return s;
}

bool MaxPoolHasMap(const PoolShape& shape) { return shape.kh * shape.kw <= kNoGradient; }

template <typename T>
void MaxPoolPlane(const PoolShape& shape, const T* x, T* y, uint8_t* argmax) {
  ForwardPlane(shape, x, y, argmax, KernelsForConv<T>().max_pool);
}

template <typename T>
void AveragePoolPlane(const PoolShape& shape, const T* x, T* y) {
  ForwardPlane<T>(shape, x, y, nullptr, KernelsForConv<T>().average_pool);
}

template <typename T>
void MaxPoolPlaneBackward(const PoolShape& shape, const T* dy, const uint8_t* argmax, T* dx) {
  BackwardPlane(shape, dy, argmax, dx, KernelsForConv<T>().max_pool_backward);
}

template <typename T>
void AveragePoolPlaneBackward(const PoolShape& shape, const T* dy, T* dx) {
  BackwardPlane<T>(shape, dy, nullptr, dx, KernelsForConv<T>().average_pool_backward);
}

template <typename T>
void MaxPool(const Lease& threads, const PoolShape& shape, const T* x, T* y, uint8_t* argmax,
             int slices) {
  ForEachOffset<T>(threads, shape, slices, [&](int64_t in, int64_t out) {
    MaxPoolPlane(shape, x + in, y + out, PartOfMap(argmax, out));
  });
}

template <typename T>
void MaxPoolBackward(const Lease& threads, const PoolShape& shape, const T* dy,
                     const uint8_t* argmax, T* dx, int slices) {
  ForEachOffset<T>(threads, shape, slices, [&](int64_t in, int64_t out) {
    MaxPoolPlaneBackward(shape, dy + out, PartOfMap(argmax, out), Cleared(shape, dx + in));
  });
}

template <typename T>
void AveragePool(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices) {
  ForEachOffset<T>(threads, shape, slices,
                   [&](int64_t in, int64_t out) { AveragePoolPlane(shape, x + in, y + out); });
}

template <typename T>
void AveragePoolBackward(const Lease& threads, const PoolShape& shape, const T* dy, T* dx,
                         int slices) {
  ForEachOffset<T>(threads, shape, slices, [&](int64_t in, int64_t out) {
    AveragePoolPlaneBackward(shape, dy + out, Cleared(shape, dx + in));
  });
}

#define HR_INSTANTIATE(T)                                                                     \
  template void MaxPoolPlane(const PoolShape&, const T*, T*, uint8_t*);                       \
  template void AveragePoolPlane(const PoolShape&, const T*, T*);                             \
  template void MaxPoolPlaneBackward(const PoolShape&, const T*, const uint8_t*, T*);         \
  template void AveragePoolPlaneBackward(const PoolShape&, const T*, T*);                     \
  template void MaxPool(const Lease&, const PoolShape&, const T*, T*, uint8_t*, int);         \
  template void MaxPoolBackward(const Lease&, const PoolShape&, const T*, const uint8_t*, T*, \
                                int);                                                         \
  template void AveragePool(const Lease&, const PoolShape&, const T*, T*, int);               \
  template void AveragePoolBackward(const Lease&, const PoolShape&, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
