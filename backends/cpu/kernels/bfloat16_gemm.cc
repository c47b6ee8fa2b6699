#include "backends/cpu/kernels/bfloat16_gemm.h"

#include <algorithm>

#include "backends/cpu/kernels/bfloat16_kernels.h"

namespace hr::cpu {
namespace {

constexpr int64_t kLineElements = 32;
// Fewer elements than this are not worth waking a thread to copy them.
constexpr int64_t kCopiesOfTask = 1 << 16;

int64_t PanelElements(int64_t k) { return RoundUp(k, 2) * kBfloat16Width; }

// Calls body(first, how many) for strips of rows or columns that have so many elements each.
template <typename Body>
void ForStrips(const Lease& threads, int64_t count, int64_t elements, int slices,
               const Body& body) {
  const int64_t strips = CeilDiv(count, kBfloat16Width);
  const int64_t useful = std::min(strips, CeilDiv(count * elements, kCopiesOfTask));
  const int tasks = static_cast<int>(std::clamp<int64_t>(useful, 1, slices));
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(strips, tasks, task);
    for (int64_t strip = part.begin; strip < part.end; ++strip) {
      const int64_t first = strip * kBfloat16Width;
      body(first, std::min<int64_t>(kBfloat16Width, count - first));
    }
  });
}

class Product {
 public:
  Product(const Bfloat16Kernels& kernels, const GemmShape& shape, const uint16_t* a,
          const uint16_t* packed, void* c, const Bfloat16Epilogue& epilogue)
      : s_(shape),
        kernels_(kernels),
        a_(a),
        packed_(packed),
        c_(static_cast<char*>(c)),
        epilogue_(epilogue) {}

  void Run(const Lease& threads, int slices) const {
    const PanelTiles tiles{.m = s_.m,
                           .n = s_.n,
                           .k = s_.k,
                           .row_bytes = s_.k * 2,
                           .rows = kernels_.rows,
                           .width = kBfloat16Width};
    tiles.ForEach(
        threads, slices, [&](Range rows, int64_t panel) { Tile(rows, panel); }, kernels_.release);
  }

 private:
  void Tile(Range rows, int64_t panel) const {
    alignas(64) float tile[kMaxBfloat16Rows * kBfloat16Width];
    kernels_.tile[rows.size() - 1]({.rows = static_cast<int>(rows.size()),
                                    .k = s_.k,
                                    .a = a_ + rows.begin * s_.lda,
                                    .lda = s_.lda,
                                    .panel = packed_ + panel * PanelElements(s_.k),
                                    .tile = tile});
    const int64_t i = rows.begin, j = panel * kBfloat16Width;
    Bfloat16FinishCall call{.rows = rows.size(),
                            .columns = std::min<int64_t>(kBfloat16Width, s_.n - j),
                            .tile = tile,
                            .c = c_ + (i * s_.ldc + j) * (epilogue_.narrow ? 2 : 4),
                            .ldc = s_.ldc,
                            .epilogue = epilogue_};
    if (epilogue_.bias != nullptr) {
      call.epilogue.bias += i * epilogue_.bias_row + j * epilogue_.bias_column;
    }
    kernels_.finish(call);
  }

  const GemmShape& s_;
  const Bfloat16Kernels& kernels_;
  const uint16_t* const a_;
  const uint16_t* const packed_;
  char* const c_;
  const Bfloat16Epilogue& epilogue_;
};

// The rows of A one behind the other, if it is transposed.
int64_t TransposedPitch(const GemmShape& s) { return RoundUp(s.k, kLineElements); }

void TransposeA(const Bfloat16Kernels& kernels, const Lease& threads, const GemmShape& s,
                const uint16_t* a, uint16_t* to, int slices) {
  const int64_t pitch = TransposedPitch(s);
  ForStrips(threads, s.m, s.k, slices, [&](int64_t i, int64_t count) {
    kernels.transpose(a + i, s.lda, count, s.k, to + i * pitch, pitch);
  });
}

}  // namespace

size_t PackedBfloat16Bytes(int64_t n, int64_t k) {
  return static_cast<size_t>(CeilDiv(n, kBfloat16Width) * PanelElements(k)) * sizeof(uint16_t);
}

void PackBfloat16(const Bfloat16Kernels& kernels, const Lease& threads, const GemmShape& s,
                  const uint16_t* b, uint16_t* packed, int slices) {
  ForStrips(threads, s.n, s.k, slices, [&](int64_t j, int64_t count) {
    uint16_t* const panel = packed + j / kBfloat16Width * PanelElements(s.k);
    if (s.transpose_b) {
      kernels.pack_transposed(b + j * s.ldb, s.ldb, count, s.k, panel);
    } else {
      kernels.pack(b + j, s.ldb, count, s.k, panel);
    }
  });
}

size_t Bfloat16ScratchBytes(const GemmShape& s) {
  return s.transpose_a ? static_cast<size_t>(s.m * TransposedPitch(s)) * sizeof(uint16_t) : 0;
}

void Bfloat16Gemm(const Bfloat16Kernels& kernels, const Lease& threads, const GemmShape& shape,
                  const uint16_t* a, const uint16_t* packed, void* c,
                  const Bfloat16Epilogue& epilogue, int slices, void* scratch) {
  if (shape.m == 0 || shape.n == 0) return;
  GemmShape s = shape;
  if (s.transpose_a) {
    auto* const rows = static_cast<uint16_t*>(scratch);
    TransposeA(kernels, threads, s, a, rows, slices);
    a = rows;
    s.lda = TransposedPitch(s);
  }
  Product(kernels, s, a, packed, c, epilogue).Run(threads, slices);
}

}  // namespace hr::cpu
