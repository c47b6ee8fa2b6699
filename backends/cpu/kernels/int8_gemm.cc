#include "backends/cpu/kernels/int8_gemm.h"

#include <algorithm>

#include "backends/cpu/kernels/int8_kernels.h"
#include "backends/cpu/kernels/panels.h"

namespace hr::cpu {
namespace {

int64_t PanelElements(const Int8Kernels& kernels, int64_t k) {  // of int32
  return kernels.width * (1 + CeilDiv(k, kQuad));
}

class Product {
 public:
  Product(const Int8Shape& shape, const void* a, const void* packed, void* c,
          const Int8Epilogue& epilogue, int32_t* row_terms)
      : s_(shape),
        kernels_(KernelsForInt8()),
        a_(static_cast<const uint8_t*>(a)),
        packed_(static_cast<const int32_t*>(packed)),
        c_(static_cast<char*>(c)),
        epilogue_(epilogue),
        row_terms_(row_terms),
        ldc_(shape.ldc != 0 ? shape.ldc : shape.n) {}

  void Run(const Lease& threads, int slices) {
    const PanelTiles tiles{.m = s_.m,
                           .n = s_.n,
                           .k = s_.k,
                           .row_bytes = s_.k,
                           .rows = kernels_.rows,
                           .width = kernels_.width};
    if (epilogue_.column_zero != nullptr) {
      const int tasks = tiles.Tasks(slices);
      threads.ParallelFor(tasks, [&](int task) { FillRowTerms(PartOf(s_.m, tasks, task)); });
    }
    tiles.ForEach(
        threads, slices, [&](Range rows, int64_t panel) { Tile(rows, panel); }, kernels_.release);
  }

 private:
  void FillRowTerms(Range rows) {
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int32_t sum = kernels_.row_sum(a_ + i * s_.k, s_.k, s_.a_signed);
      const int32_t zero = epilogue_.row_zero != nullptr ? epilogue_.row_zero[i] : 0;
      row_terms_[i] = static_cast<int32_t>(
          static_cast<uint32_t>(s_.k) * static_cast<uint32_t>(zero) - static_cast<uint32_t>(sum));
    }
  }

  void Tile(Range rows, int64_t panel) const {
    alignas(64) int32_t tile[kMaxInt8Rows * kMaxInt8Width];
    const int32_t* const sums = packed_ + panel * PanelElements(kernels_, s_.k);
    kernels_.tile[s_.a_signed][rows.size() - 1](
        {.rows = static_cast<int>(rows.size()),
         .k = s_.k,
         .a = a_ + rows.begin * s_.k,
         .lda = s_.k,
         .panel = reinterpret_cast<const int8_t*>(sums + kernels_.width),
         .tile = tile});
    const int64_t i = rows.begin, j = panel * kernels_.width;
    Int8FinishCall call{.rows = rows.size(),
                        .columns = std::min<int64_t>(kernels_.width, s_.n - j),
                        .tile = tile,
                        .column_sums = sums,
                        .row_terms = row_terms_ + i,
                        .c = c_ + (i * ldc_ + j) * element_bytes(),
                        .ldc = ldc_,
                        .epilogue = epilogue_};
    Int8Epilogue& e = call.epilogue;
    const auto move = [](auto*& parameter, int64_t by) {
      if (parameter != nullptr) parameter += by;
    };
    move(e.row_zero, i), move(e.row_bias, i), move(e.row_factor, i), move(e.row_shift, i);
    move(e.row_scale, i), move(e.row_offset, i);
    move(e.column_zero, j), move(e.column_bias, j), move(e.column_factor, j);
    move(e.column_shift, j), move(e.column_scale, j), move(e.column_offset, j);
    kernels_.finish(call);
  }

  int64_t element_bytes() const {
    return epilogue_.output == Int8Output::kInt32 || epilogue_.output == Int8Output::kFloat ? 4 : 1;
  }

  const Int8Shape& s_;
  const Int8Kernels& kernels_;
  const uint8_t* const a_;
  const int32_t* const packed_;
  char* const c_;
  const Int8Epilogue& epilogue_;
  int32_t* const row_terms_;
  const int64_t ldc_;
};

}  // namespace

size_t PackedInt8Bytes(int64_t n, int64_t k) {
  const Int8Kernels& kernels = KernelsForInt8();
  return static_cast<size_t>(CeilDiv(n, kernels.width) * PanelElements(kernels, k)) *
         sizeof(int32_t);
}

void PackInt8(const Lease& threads, const Int8Shape& shape, bool transposed, const void* b,
              int64_t ldb, void* packed, int slices) {
  const Int8Kernels& kernels = KernelsForInt8();
  const int64_t panels = CeilDiv(shape.n, kernels.width);
  const int64_t work = CeilDiv(shape.n * shape.k, 1 << 16);
  const int tasks = static_cast<int>(std::clamp<int64_t>(work, 1, slices));
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(panels, tasks, task);
    for (int64_t panel = part.begin; panel < part.end; ++panel) {
      const int64_t j = panel * kernels.width;
      (transposed ? kernels.pack_transposed : kernels.pack)(
          static_cast<const uint8_t*>(b) + j * (transposed ? ldb : 1), ldb,
          std::min<int64_t>(kernels.width, shape.n - j), shape.k, shape.b_signed,
          static_cast<int32_t*>(packed) + panel * PanelElements(kernels, shape.k));
    }
  });
}

size_t Int8GemmScratchBytes(const Int8Shape& shape) {
  return static_cast<size_t>(shape.m) * sizeof(int32_t);
}

void Int8Gemm(const Lease& threads, const Int8Shape& shape, const void* a, const void* packed,
              void* c, const Int8Epilogue& epilogue, int slices, void* scratch) {
  if (shape.m == 0 || shape.n == 0) return;
  Product(shape, a, packed, c, epilogue, static_cast<int32_t*>(scratch)).Run(threads, slices);
}

}  // namespace hr::cpu
