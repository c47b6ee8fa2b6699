#include "backends/cpu/kernels/gemm_plan.h"

#include <algorithm>
#include <utility>

namespace hr::cpu {
namespace {

// Costs are counted in vector multiply-adds; the constants were measured on AVX-512 and AVX2.
constexpr double kPackTransposed = 0.35;  // an element
constexpr double kPackRows = 0.1;
constexpr double kStoreTransposed = 1.5;
constexpr double kDotEnd = 6;         // summing the lanes of one element of C
constexpr double kSliceCost = 20000;  // waking a thread
constexpr double kLine = 8;           // 64 bytes from the second-level cache
constexpr int64_t kFewTerms = 64;     // copies do not pay for shorter sums
constexpr int64_t kBlockK = 384;      // a panel of B fits the first-level cache with ease
constexpr int64_t kShortBlockK = 128;
constexpr int64_t kBlockBytes = 256 << 10;  // half of a small second-level cache
constexpr int64_t kBlockN = 2048;

template <typename T>
double Cost(const GemmKernels<T>& kernels, const Product<T>& p) {
  const double mn = static_cast<double>(p.m) * static_cast<double>(p.n);
  if (p.dots) return mn * (1.3 * static_cast<double>(CeilDiv(p.k, kernels.lanes)) + kDotEnd);
  const double columns = static_cast<double>(CeilDiv(p.n, kernels.lanes));
  double cost = static_cast<double>(p.m) * columns * static_cast<double>(p.k);
  if (p.b_column != 1) cost += kPackTransposed * static_cast<double>(p.n * p.k);
  return p.c_transposed ? cost + kStoreTransposed * mn : cost;
}

// The time to bring the operands from behind the first-level cache: what thin products take.
template <typename T>
double Traffic(const Product<T>& p) {
  const double bytes = static_cast<double>(p.m * p.k + p.k * p.n + p.m * p.n) * sizeof(T);
  return bytes > kFirstLevelBytes ? kLine * bytes / 64 : 0;
}

template <typename T>
Product<T> Transposed(Product<T> p) {
  std::swap(p.m, p.n);
  std::swap(p.a_row, p.b_column);
  std::swap(p.a_column, p.b_row);
  std::swap(p.epilogue.row_bias, p.epilogue.column_bias);
  p.c_transposed = !p.c_transposed;
  return p;
}

// Rows at such distances fall on the same few lines of the cache.
bool Conflicts(int64_t stride_bytes) { return stride_bytes % 1024 == 0; }

template <typename T>
bool PacksA(const GemmKernels<T>& kernels, const Product<T>& p, int64_t m, int64_t n) {
  if (p.dots || m <= 3 || p.k <= kFewTerms) return false;
  const int64_t vectors = CeilDiv(n, kernels.lanes);
  const int64_t stride = std::max(p.a_row, p.a_column);
  const bool conflicts = vectors > 4 && Conflicts(stride * static_cast<int64_t>(sizeof(T)));
  if (p.a_rows_contiguous()) return (vectors > 8 || conflicts) && m > 2 * kernels.rows;
  return vectors > 16 || conflicts;
}

// Rows of B that lie apart are copied if several tiles read them, and the caches cannot hold all of
// them, or so many tiles that copies pay anyway.
template <typename T>
bool PacksB(const GemmKernels<T>& kernels, const Product<T>& p, int64_t m, int64_t n) {
  if (p.dots || p.b_packed) return false;
  if (p.b_column != 1) return true;
  if (m <= kernels.rows) return false;
  return p.k > kFewTerms ? m > 8 * kernels.rows || p.k * n * sizeof(T) > kBlockBytes : false;
}

// Others make these few elements of dots, whose errors are those of a sum of a vector's lanes; here
// they are sums of shorter parts, which costs less than the copy of B.
template <typename T>
bool IsThinOfDots(const GemmKernels<T>& kernels, const Product<T>& p) {
  return !p.dots && p.b_column != 1 && p.m <= kernels.rows;
}

}  // namespace

template <typename T>
Product<T> PlainProduct(const GemmShape& shape, const GemmEpilogue<T>& epilogue) {
  Product<T> p{.m = shape.m,
               .n = shape.n,
               .k = shape.k,
               .a_row = shape.lda,
               .a_column = 1,
               .b_row = shape.ldb,
               .b_column = 1,
               .ldc = shape.ldc,
               .epilogue = epilogue};
  if (shape.transpose_a) std::swap(p.a_row, p.a_column);
  if (shape.transpose_b) std::swap(p.b_row, p.b_column);
  return p;
}

template <typename T>
Product<T> MakeProduct(const GemmKernels<T>& kernels, const GemmShape& shape,
                       const GemmEpilogue<T>& epilogue) {
  Product<T> plain = PlainProduct(shape, epilogue);
  // A vector stored as a column of width 1 is contiguous in k as well.
  if (plain.n == 1 && plain.b_row == 1) plain.b_column = plain.k;
  if (plain.m == 1 && plain.a_column == 1) plain.a_row = plain.k;
  Product<T> best = plain;
  double best_cost = Cost(kernels, plain);
  const auto consider = [&](const Product<T>& other) {
    const double cost = Cost(kernels, other);
    if (cost < best_cost) {
      best = other;
      best_cost = cost;
    }
  };
  consider(Transposed(plain));
  const bool contiguous_in_k = plain.a_column == 1 && plain.b_row == 1;
  if (contiguous_in_k) {
    plain.dots = true;
    consider(plain);
  }
  return best;
}

template <typename T>
int UsefulSlices(const GemmKernels<T>& kernels, const Product<T>& product, int64_t count,
                 int slices) {
  const double each = std::max(Cost(kernels, product), Traffic(product));
  const double useful = each * static_cast<double>(count) / kSliceCost;
  return std::max(1, static_cast<int>(std::min<double>(slices, useful)));
}

template <typename T>
GemmGrid MakeGrid(const GemmKernels<T>& kernels, const Product<T>& p, int slices) {
  const int64_t column_unit = p.dots ? 8 : 2 * kernels.lanes;
  GemmGrid best{.m_step = p.m, .n_step = p.n, .k_step = p.k};
  const double total = std::max(Cost(kernels, p), Traffic(p));
  const double lanes = p.dots ? 1 : kernels.lanes;
  const int useful = UsefulSlices(kernels, p, 1, slices);
  if (useful <= 1) return best;
  double best_cost = total;
  for (int m = 1; m <= useful; ++m) {
    for (int n = 1; m * n <= useful; ++n) {
      const int k = useful / (m * n);
      for (int cut_k = 1; cut_k <= k; cut_k += std::max(1, k - 1)) {
        Product<T> cell = p;
        cell.m = CeilDiv(p.m, m);
        cell.n = std::min(p.n, RoundUp(CeilDiv(p.n, n), column_unit));
        cell.k = CeilDiv(p.k, cut_k);
        double cost = std::max(Cost(kernels, cell), Traffic(cell));
        if (PacksA(kernels, p, cell.m, cell.n)) {
          cost += kPackTransposed * static_cast<double>(cell.m * cell.k);
        }
        if (p.b_column == 1 && PacksB(kernels, p, cell.m, cell.n)) {
          cost += kPackRows * static_cast<double>(cell.n * cell.k);
        }
        if (cut_k > 1) {  // partial results are written, read and added
          cost += kSliceCost / 4 + 2.0 * static_cast<double>(p.m * p.n) / lanes * cut_k / useful +
                  static_cast<double>(cell.m * cell.n) / lanes;
        }
        const bool by_rows = p.c_transposed ? m == 1 : n == 1;  // threads keep to rows of C
        if (cost > best_cost || (cost == best_cost && !by_rows)) continue;
        best_cost = cost;
        best = {m, n, cut_k, cell.m, cell.n, cell.k};
      }
    }
  }
  return best;
}

template <typename T>
GemmBlocks MakeBlocks(const GemmKernels<T>& kernels, const Product<T>& p, const GemmGrid& grid) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  GemmBlocks blocks{.m = grid.m_step, .n = grid.n_step, .k = grid.k_step};
  blocks.pack_a = PacksA(kernels, p, grid.m_step, grid.n_step);
  blocks.pack_b = PacksB(kernels, p, grid.m_step, grid.n_step);
  if (!blocks.pack_a && !blocks.pack_b) {
    blocks.by_rows = !p.dots && !p.b_packed && grid.n_step > 3 * kernels.lanes &&
                     grid.k_step * grid.n_step * kSize <= kBlockBytes;
    if (p.dots || grid.m_step <= kernels.rows || grid.k_step <= 1024) return blocks;
  }
  const int64_t block = IsThinOfDots(kernels, p) ? kShortBlockK : kBlockK;
  const int64_t cuts = std::max<int64_t>(1, (grid.k_step + block / 2) / block);
  blocks.k = CeilDiv(grid.k_step, cuts);
  const int64_t fit = RoundUp(kBlockBytes / kSize / std::max<int64_t>(1, blocks.k), kernels.rows);
  if (blocks.pack_a) blocks.m = std::min(grid.m_step, fit);
  // Panels of B are copied one by one, just before they are used, unless other rows of A need them
  // again.
  const int64_t width = 2 * kernels.lanes;
  const bool once = grid.m_step <= std::max(blocks.m, fit);
  blocks.n = std::min(grid.n_step, blocks.pack_b && once ? width : kBlockN);
  blocks.a_elements = blocks.pack_a ? RoundUp(blocks.m * blocks.k, 16) : 0;
  blocks.b_elements = blocks.pack_b ? RoundUp(RoundUp(blocks.n, width) * blocks.k, 16) : 0;
  return blocks;
}

#define HR_INSTANTIATE(T)                                                            \
  template Product<T> PlainProduct(const GemmShape&, const GemmEpilogue<T>&);        \
  template Product<T> MakeProduct(const GemmKernels<T>&, const GemmShape&,           \
                                  const GemmEpilogue<T>&);                           \
  template int UsefulSlices(const GemmKernels<T>&, const Product<T>&, int64_t, int); \
  template GemmGrid MakeGrid(const GemmKernels<T>&, const Product<T>&, int);         \
  template GemmBlocks MakeBlocks(const GemmKernels<T>&, const Product<T>&, const GemmGrid&);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
