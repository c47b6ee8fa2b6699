#include "backends/cpu/kernels/gemm.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/gemm_cell.h"
#include "backends/cpu/kernels/gemm_plan.h"
#include "backends/cpu/kernels/split_cell.h"

namespace hr::cpu {
namespace {

constexpr size_t kAlignment = 64;  // a cache line

template <typename T>
T* Aligned(void* scratch) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  return reinterpret_cast<T*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

template <typename T>
size_t AlignedBytes(int64_t elements) {
  return elements == 0 ? 0 : static_cast<size_t>(elements) * sizeof(T) + kAlignment;
}

// A product and how it is cut, without its operands.
template <typename T>
struct Plan {
  // On vectors.
  Plan(const GemmKernels<T>& kernels, const Product<T>& product, int slices)
      : kernels(kernels),
        product(product),
        grid(MakeGrid(kernels, product, slices)),
        blocks(MakeBlocks(kernels, product, grid)),
        cell_elements(blocks.scratch_elements()) {}
  // On a matrix unit.
  Plan(const GemmKernels<T>& kernels, const SplitKernels& unit, const Product<T>& product,
       int slices)
      : kernels(kernels),
        unit(&unit),
        product(product),
        grid(MakeSplitGrid(product.m, product.n, product.k, slices)),
        split(grid.m_step, grid.n_step, grid.k_step),
        cell_elements(static_cast<int64_t>(split.scratch_bytes() / sizeof(T))) {}

  int64_t partial_elements() const { return grid.k > 1 ? grid.k * product.m * product.n : 0; }
  int64_t scratch_elements() const {
    return grid.cells() * cell_elements + RoundUp(partial_elements(), 16);
  }
  size_t scratch_bytes() const { return AlignedBytes<T>(scratch_elements()); }
  // The product of the caller's operands, of which each may play the other's role.
  Product<T> Of(const T* a, const T* b, T* c) const {
    Product<T> out = product;
    out.a = out.c_transposed ? b : a;
    out.b = out.c_transposed ? a : b;
    out.c = c;
    return out;
  }

  const GemmKernels<T>& kernels;
  const SplitKernels* unit = nullptr;  // null: vectors
  const Product<T> product;
  const GemmGrid grid;
  const GemmBlocks blocks{};
  const SplitBlocks split{1, 1, 1};
  const int64_t cell_elements;  // of scratch
};

template <typename T>
void RunCell(const Plan<T>& plan, const Product<T>& whole, int cell, T* scratch, T* partials) {
  const GemmGrid& grid = plan.grid;
  const int64_t i = grid.m_step * (cell % grid.m);
  const int64_t j = grid.n_step * (cell / grid.m % grid.n);
  const int part = cell / (grid.m * grid.n);
  const int64_t k = std::min(whole.k, part * grid.k_step);
  const int64_t m = std::min(grid.m_step, whole.m - i), n = std::min(grid.n_step, whole.n - j);
  if (m <= 0 || n <= 0) return;
  Product<T> p = whole;
  if (grid.k > 1) {
    p.c = partials + part * whole.m * whole.n;
    p.ldc = whole.c_transposed ? whole.m : whole.n;
    p.epilogue = {};
  }
  p = SubProduct(p, i, j, m, n);
  p.a += k * p.a_column;
  p.b += k * p.b_row;  // of a packed panel as well
  p.k = std::min(grid.k_step, whole.k - k);
  const int64_t b_panel = whole.k * 2 * plan.kernels.lanes;
  if constexpr (std::is_same_v<T, float>) {
    if (plan.unit != nullptr) {
      return RunSplitCell(*plan.unit, plan.kernels, p, plan.split, b_panel, scratch);
    }
  }
  Cell<T>(plan.kernels, p, plan.blocks, scratch, b_panel).Run();
}

// C = epilogue(sum of the partial products), in their order.
template <typename T>
void AddPartials(const Lease& threads, const Plan<T>& plan, const Product<T>& p, T* partials) {
  const int64_t rows = p.c_transposed ? p.n : p.m, columns = p.c_transposed ? p.m : p.n;
  const int tasks = plan.grid.cells();
  threads.ParallelFor(tasks, [&](int task) {
    for (int64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
      T* sum = partials + i * columns;
      for (int part = 1; part < plan.grid.k; ++part) {
        plan.kernels.add(sum + part * rows * columns, columns, sum);
      }
      FinishCall<T> finish{.rows = 1,
                           .columns = columns,
                           .tile = sum,
                           .tile_stride = columns,
                           .c = p.c + i * p.ldc,
                           .ldc = p.ldc,
                           .epilogue = p.epilogue};
      if (p.c_transposed) std::swap(finish.epilogue.row_bias, finish.epilogue.column_bias);
      if (finish.epilogue.row_bias) finish.epilogue.row_bias += i;
      plan.kernels.finish(finish);
    }
  });
}

template <typename T>
void Run(const Lease& threads, const Plan<T>& plan, const Product<T>& product, void* scratch) {
  if (product.m == 0 || product.n == 0) return;
  T* const partials = scratch ? Aligned<T>(scratch) : nullptr;
  T* const packed = partials + RoundUp(plan.partial_elements(), 16);
  threads.ParallelFor(plan.grid.cells(), [&](int cell) {
    RunCell(plan, product, cell, packed + cell * plan.cell_elements, partials);
  });
  if (plan.grid.k > 1) AddPartials(threads, plan, product, partials);
}

template <typename T>
bool TakesUnit(const GemmShape& shape) {
  return std::is_same_v<T, float> && RunsOnMatrixUnit(shape);
}

template <typename T>
Plan<T> PlanFor(const GemmShape& shape, const GemmEpilogue<T>& epilogue, int slices) {
  const GemmKernels<T>& kernels = KernelsForGemm<T>();
  if (TakesUnit<T>(shape)) {
    return Plan<T>(kernels, *SplitKernelsInUse(), PlainProduct(shape, epilogue), slices);
  }
  return Plan<T>(kernels, MakeProduct(kernels, shape, epilogue), slices);
}

template <typename T>
Plan<T> PlanForPackedB(const GemmShape& shape, const GemmEpilogue<T>& epilogue, int slices) {
  const GemmKernels<T>& kernels = KernelsForGemm<T>();
  Product<T> product = PlainProduct(shape, epilogue);
  product.b_packed = true;
  product.b_row = 2 * kernels.lanes;
  product.b_column = 1;
  if (TakesUnit<T>(shape)) return Plan<T>(kernels, *SplitKernelsInUse(), product, slices);
  return Plan<T>(kernels, product, slices);
}

}  // namespace

bool RunsOnMatrixUnit(const GemmShape& shape) { return SplitPays(shape.m, shape.n, shape.k); }

template <typename T>
size_t GemmScratchBytes(const GemmShape& shape, int slices) {
  return PlanFor<T>(shape, {}, slices).scratch_bytes();
}

template <typename T>
void Gemm(const Lease& threads, const GemmShape& shape, const T* a, const T* b, T* c,
          const GemmEpilogue<T>& epilogue, int slices, void* scratch) {
  const Plan<T> plan = PlanFor(shape, epilogue, slices);
  Run(threads, plan, plan.Of(a, b, c), scratch);
}

template <typename T>
size_t PackedBBytes(int64_t n, int64_t k) {
  return static_cast<size_t>(RoundUp(n, 2 * KernelsForGemm<T>().lanes) * k) * sizeof(T);
}

template <typename T>
void PackB(const Lease& threads, int64_t n, int64_t k, bool transpose_b, const T* b, int64_t ldb,
           T* packed, int slices) {
  const GemmKernels<T>& kernels = KernelsForGemm<T>();
  const int64_t width = 2 * kernels.lanes, panels = CeilDiv(n, width);
  const int tasks = static_cast<int>(std::min<int64_t>(slices, CeilDiv(n * k, 1 << 14)));
  threads.ParallelFor(tasks, [&](int task) {
    for (int64_t panel = panels * task / tasks; panel < panels * (task + 1) / tasks; ++panel) {
      const int64_t j = panel * width, count = std::min(width, n - j);
      T* to = packed + j * k;
      if (transpose_b) {
        kernels.pack_transposed(b + j * ldb, ldb, count, k, to, width);
      } else {
        kernels.pack_rows(b + j, ldb, count, k, to, width);
      }
    }
  });
}

template <typename T>
size_t GemmPackedBScratchBytes(const GemmShape& shape, int slices) {
  return PlanForPackedB<T>(shape, {}, slices).scratch_bytes();
}

template <typename T>
void GemmPackedB(const Lease& threads, const GemmShape& shape, const T* a, const T* packed, T* c,
                 const GemmEpilogue<T>& epilogue, int slices, void* scratch) {
  const Plan<T> plan = PlanForPackedB(shape, epilogue, slices);
  Run(threads, plan, plan.Of(a, packed, c), scratch);
}

namespace {

int64_t Count(const GemmBatch& batch) {
  int64_t count = 1;
  for (int64_t dim : batch.dims) count *= dim;
  return count;
}

// The places of products first, first + 1, … of a batch in its operands.
class BatchPlace {
 public:
  BatchPlace(const GemmBatch& batch, int64_t first)
      : batch_(batch), next_(first), row_(batch.dims.empty() ? 1 : batch.dims.back()) {
    Find();
  }
  int64_t a = 0, b = 0, c = 0;

  void Advance() {
    if (++next_ % row_ == 0) return Find();
    a += batch_.a_strides.back();
    b += batch_.b_strides.back();
    c += batch_.c_strides.back();
  }

 private:
  void Find() {
    a = b = c = 0;
    int64_t index = next_;
    for (size_t i = batch_.dims.size(); i-- > 0; index /= batch_.dims[i]) {
      const int64_t at = index % batch_.dims[i];
      a += at * batch_.a_strides[i];
      b += at * batch_.b_strides[i];
      c += at * batch_.c_strides[i];
    }
  }

  const GemmBatch& batch_;
  int64_t next_;
  const int64_t row_;
};

// With enough products each is computed by one thread, else they follow each other.
bool OneThreadEach(const GemmBatch& batch, int slices) { return Count(batch) >= 2 * slices; }

}  // namespace

template <typename T>
size_t GemmBatchedScratchBytes(const GemmShape& shape, const GemmBatch& batch, int slices) {
  if (!OneThreadEach(batch, slices)) return GemmScratchBytes<T>(shape, slices);
  return GemmScratchBytes<T>(shape, 1) * static_cast<size_t>(slices);
}

template <typename T>
void GemmBatched(const Lease& threads, const GemmShape& shape, const GemmBatch& batch, const T* a,
                 const T* b, T* c, const GemmEpilogue<T>& epilogue, int slices, void* scratch) {
  const int64_t count = Count(batch);
  if (count == 0) return;
  const bool each = OneThreadEach(batch, slices);
  const Plan<T> plan = PlanFor(shape, epilogue, each ? 1 : slices);
  const auto run = [&](const Lease& lease, Range part, void* memory) {
    BatchPlace place(batch, part.begin);
    for (int64_t i = part.begin; i < part.end; ++i, place.Advance()) {
      Run(lease, plan, plan.Of(a + place.a, b + place.b, c + place.c), memory);
    }
  };
  if (!each) return run(threads, {0, count}, scratch);
  const size_t bytes = plan.scratch_bytes();
  const int tasks = UsefulSlices(plan.kernels, plan.product, count, slices);
  threads.ParallelFor(tasks, [&](int task) {
    char* memory =
        bytes ? static_cast<char*>(scratch) + bytes * static_cast<size_t>(task) : nullptr;
    run(Lease(), PartOf(count, tasks, task), memory);
  });
}

#define HR_INSTANTIATE(T)                                                                         \
  template size_t GemmScratchBytes<T>(const GemmShape&, int);                                     \
  template void Gemm(const Lease&, const GemmShape&, const T*, const T*, T*,                      \
                     const GemmEpilogue<T>&, int, void*);                                         \
  template size_t PackedBBytes<T>(int64_t, int64_t);                                              \
  template void PackB(const Lease&, int64_t, int64_t, bool, const T*, int64_t, T*, int);          \
  template size_t GemmPackedBScratchBytes<T>(const GemmShape&, int);                              \
  template void GemmPackedB(const Lease&, const GemmShape&, const T*, const T*, T*,               \
                            const GemmEpilogue<T>&, int, void*);                                  \
  template size_t GemmBatchedScratchBytes<T>(const GemmShape&, const GemmBatch&, int);            \
  template void GemmBatched(const Lease&, const GemmShape&, const GemmBatch&, const T*, const T*, \
                            T*, const GemmEpilogue<T>&, int, void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
