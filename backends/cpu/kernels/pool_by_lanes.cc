#include "backends/cpu/kernels/pool_by_lanes.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/pool_batch_blocked.h"

namespace hr::cpu {
namespace {

constexpr int64_t kPixel = 64;                                  // bytes
constexpr int64_t kBandBytes = 96 << 10, kMostBytes = 1 << 20;  // of the rows of a band

int64_t WindowRows(const PoolShape& s) { return (s.kh - 1) * s.dh + 1; }

// The output rows of a band: so many that the rows that they read stay in the cache.
int64_t BandRows(const PoolShape& s) {
  const int64_t rows = kBandBytes / (kPixel * std::max<int64_t>(1, s.iw));
  return std::clamp<int64_t>((rows - WindowRows(s)) / s.sh + 1, 1, std::max<int64_t>(1, s.oh));
}
int64_t BandInputRows(const PoolShape& s) {
  return std::min(s.ih, (BandRows(s) - 1) * s.sh + WindowRows(s));
}

// A band as a pool of its own: rows [first, first + shape.ih) of the input give rows [out, out +
// shape.oh) of the output.
struct Band {
  PoolShape shape;
  int64_t first, out;

  Band(const PoolShape& s, int64_t number) : shape(s), out(number * BandRows(s)) {
    shape.oh = std::min(BandRows(s), s.oh - out);
    const int64_t begin = out * s.sh - s.pad_top;
    first = std::clamp<int64_t>(begin, 0, s.ih);
    const int64_t end = begin + (shape.oh - 1) * s.sh + WindowRows(s);
    shape.ih = std::clamp(end, first, s.ih) - first;
    shape.pad_top = first - begin;
    const int64_t padded = s.pad_top + s.ih + s.pad_bottom - out * s.sh;
    shape.pad_bottom = padded - shape.pad_top - shape.ih;
  }
  int64_t end() const { return first + shape.ih; }
};

int64_t BandCount(const PoolShape& s) { return CeilDiv(s.oh, BandRows(s)); }

// The memory of one slice.
template <typename T>
struct BandMemory {
  T *x, *dx, *y;
  uint8_t* argmax;

  BandMemory(const PoolShape& s, int slice, void* scratch) {
    const int64_t in = BandInputRows(s) * s.iw * kPixel, out = BandRows(s) * s.ow * kPixel;
    auto* const own = static_cast<std::byte*>(scratch) + slice * Bytes(s);
    x = reinterpret_cast<T*>(own);
    dx = reinterpret_cast<T*>(own + in);
    y = reinterpret_cast<T*>(own + 2 * in);
    argmax = reinterpret_cast<uint8_t*>(own + 2 * in + out);
  }
  static int64_t Bytes(const PoolShape& s) {
    return 2 * BandInputRows(s) * s.iw * kPixel + 2 * BandRows(s) * s.ow * kPixel;
  }
};

// As many channels as a block has lanes, from `first` on.
template <typename T>
struct Lanes {
  const PoolShape& s;
  int64_t first;

  int64_t count() const { return std::min(kBatchBlock<T>, s.n * s.c - first); }
  void Read(const T* image, int64_t plane, int64_t row, int64_t pixels, T* to) const {
    constexpr int64_t kB = kBatchBlock<T>;
    if (count() < kB) std::memset(to, 0, static_cast<size_t>(pixels * kPixel));
    TransposeMatrix(image + first * plane + row, plane, count(), pixels, to, kB);
  }
  void Write(const T* from, int64_t pixels, int64_t plane, int64_t row, T* image) const {
    TransposeMatrix(from, kBatchBlock<T>, pixels, count(), image + first * plane + row, plane);
  }
  void ReadInput(const Band& band, const T* x, T* to) const {
    Read(x, s.InputPlane(), band.first * s.iw, band.shape.InputPlane(), to);
  }
  void ReadOutput(const Band& band, const T* y, T* to) const {
    Read(y, s.OutputPlane(), band.out * s.ow, band.shape.OutputPlane(), to);
  }
  // Rows [begin, end) of the input: `rows` of them are given, the others are zero.
  void WriteInput(const T* from, int64_t begin, int64_t rows, int64_t end, T* dx) const {
    Write(from, rows * s.iw, s.InputPlane(), begin * s.iw, dx);
    for (int64_t p = first; p < first + count() && begin + rows < end; ++p) {
      std::fill(dx + p * s.InputPlane() + (begin + rows) * s.iw,
                dx + p * s.InputPlane() + end * s.iw, T{0});
    }
  }
};

template <typename T>
int64_t LaneGroups(const PoolShape& s) {
  return CeilDiv(s.n * s.c, kBatchBlock<T>);
}

// pool(band's shape, x, y) for every band.
template <typename T, typename Pool>
void ForwardByLanes(const Lease& threads, const PoolShape& s, const T* x, T* y, int slices,
                    void* scratch, const Pool& pool) {
  const int64_t bands = BandCount(s);
  threads.ParallelFor(slices, [&](int slice) {
    const BandMemory<T> memory(s, slice, scratch);
    const Range part = PartOf(LaneGroups<T>(s) * bands, slices, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      const Lanes<T> lanes{s, unit / bands * kBatchBlock<T>};
      const Band band(s, unit % bands);
      lanes.ReadInput(band, x, memory.x);
      pool(band.shape, memory.x, memory.y);
      lanes.Write(memory.y, band.shape.OutputPlane(), s.OutputPlane(), band.out * s.ow, y);
    }
  });
}

// add(lanes, band, memory), which adds to the band's dx, for every band. Rows that the next band
// adds to, too, stay in memory for it.
template <typename T, typename Add>
void BackwardByLanes(const Lease& threads, const PoolShape& s, T* dx, int slices, void* scratch,
                     const Add& add) {
  const int64_t bands = BandCount(s), pixels = s.iw * kBatchBlock<T>;
  threads.ParallelFor(slices, [&](int slice) {
    const BandMemory<T> memory(s, slice, scratch);
    const Range part = PartOf(LaneGroups<T>(s), slices, slice);
    for (int64_t group = part.begin; group < part.end; ++group) {
      const Lanes<T> lanes{s, group * kBatchBlock<T>};
      int64_t kept = 0;
      for (int64_t number = 0; number < bands; ++number) {
        const Band band(s, number);
        std::fill_n(memory.dx + kept * pixels, (band.shape.ih - kept) * pixels, T{0});
        add(lanes, band, memory);
        const int64_t next = number + 1 < bands ? Band(s, number + 1).first : s.ih;
        const int64_t done = std::min(next, band.end()) - band.first;
        lanes.WriteInput(memory.dx, band.first, done, next, dx);
        kept = band.shape.ih - done;
        std::copy_n(memory.dx + done * pixels, kept * pixels, memory.dx);
      }
    }
  });
}

}  // namespace

bool CanPoolByLanes(const PoolShape& shape) {
  return !shape.HasDepth() && shape.oh > 0 &&
         BandInputRows(shape) * shape.iw * kPixel <= kMostBytes;
}

size_t PoolByLanesBytes(const PoolShape& shape, int slices) {
  return static_cast<size_t>(BandMemory<float>::Bytes(shape) * slices);
}

template <typename T>
void MaxPoolByLanes(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices,
                    void* scratch) {
  ForwardByLanes(threads, shape, x, y, slices, scratch,
                 [](const PoolShape& band, const T* from, T* to) {
                   MaxPoolPlane<T>(band, from, to, nullptr);
                 });
}

template <typename T>
void AveragePoolByLanes(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices,
                        void* scratch) {
  ForwardByLanes(threads, shape, x, y, slices, scratch, AveragePoolPlane<T>);
}

template <typename T>
void MaxPoolByLanesBackward(const Lease& threads, const PoolShape& shape, const T* dy, const T* x,
                            T* dx, int slices, void* scratch) {
  BackwardByLanes(threads, shape, dx, slices, scratch,
                  [=](const Lanes<T>& lanes, const Band& band, const BandMemory<T>& memory) {
                    lanes.ReadInput(band, x, memory.x);
                    MaxPoolPlane<T>(band.shape, memory.x, memory.y, memory.argmax);
                    lanes.ReadOutput(band, dy, memory.y);
                    MaxPoolPlaneBackward<T>(band.shape, memory.y, memory.argmax, memory.dx);
                  });
}

template <typename T>
void AveragePoolByLanesBackward(const Lease& threads, const PoolShape& shape, const T* dy, T* dx,
                                int slices, void* scratch) {
  BackwardByLanes(threads, shape, dx, slices, scratch,
                  [=](const Lanes<T>& lanes, const Band& band, const BandMemory<T>& memory) {
                    lanes.ReadOutput(band, dy, memory.y);
                    AveragePoolPlaneBackward<T>(band.shape, memory.y, memory.dx);
                  });
}

#define HR_INSTANTIATE(T)                                                                      \
  template void MaxPoolByLanes(const Lease&, const PoolShape&, const T*, T*, int, void*);      \
  template void AveragePoolByLanes(const Lease&, const PoolShape&, const T*, T*, int, void*);  \
  template void MaxPoolByLanesBackward(const Lease&, const PoolShape&, const T*, const T*, T*, \
                                       int, void*);                                            \
  template void AveragePoolByLanesBackward(const Lease&, const PoolShape&, const T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
