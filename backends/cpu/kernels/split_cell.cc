#include "backends/cpu/kernels/split_cell.h"

#include <algorithm>
#include <bitset>
#include <cmath>

#include "backends/cpu/kernels/gemm_cell.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockTerms = 512;
constexpr int64_t kBlockBytes = 768 << 10;  // of the second-level cache
constexpr int64_t kMostGroups = 64;

class SplitCell {
 public:
  SplitCell(const SplitKernels& unit, const GemmKernels<float>& kernels,
            const Product<float>& product, const SplitBlocks& blocks, int64_t b_panel,
            void* scratch)
      : unit_(unit),
        kernels_(kernels),
        p_(product),
        blocks_(blocks),
        b_panel_(b_panel),
        a_(static_cast<char*>(scratch)),
        b_(a_ + blocks.a_bytes) {}

  void Run() {
    for (int64_t k = 0; k < p_.k; k += blocks_.k) {
      const int64_t terms = std::min(blocks_.k, p_.k - k);
      epilogue_ = EpilogueOfPart(p_.epilogue, k == 0, k + terms == p_.k);
      direct_ = epilogue_.alpha == 1 && !epilogue_.row_bias && !epilogue_.column_bias &&
                epilogue_.activation == Activation::kNone &&
                (epilogue_.beta == 0 || epilogue_.beta == 1);
      for (int64_t i = 0; i < p_.m; i += blocks_.m) {
        MultiplyRows({i, std::min(p_.m, i + blocks_.m)}, {k, k + terms});
      }
    }
    unit_.release();
  }

 private:
  void MultiplyRows(Range rows, Range terms) {
    std::bitset<kMostGroups> special;
    for (int64_t i = rows.begin; i < rows.end; i += kSplitWidth) {
      special[Group(rows, i)] =
          unit_.split_a(RowsOfA(i, terms, rows.end), BlockOfA(rows, i, terms));
    }
    for (int64_t j = 0; j < p_.n; j += kSplitWidth) {
      const bool special_b = unit_.split_b(ColumnsOfB(j, terms), b_);
      for (int64_t i = rows.begin; i < rows.end; i += kSplitWidth) {
        const Range part{i, std::min(rows.end, i + kSplitWidth)};
        Tile(part, j, terms, BlockOfA(rows, i, terms), special_b || special[Group(rows, i)]);
      }
    }
  }

  static size_t Group(Range rows, int64_t i) {
    return static_cast<size_t>((i - rows.begin) / kSplitWidth);
  }
  char* BlockOfA(Range rows, int64_t i, Range terms) const {
    return a_ + (i - rows.begin) / kSplitWidth * SplitBlockBytes(terms.size());
  }

  SplitSource RowsOfA(int64_t i, Range terms, int64_t end) const {
    const bool along = p_.a_column == 1;
    return {.from = p_.a + i * p_.a_row + terms.begin * p_.a_column,
            .stride = along ? p_.a_row : p_.a_column,
            .along_terms = along,
            .count = std::min(kSplitWidth, end - i),
            .k = terms.size()};
  }

  SplitSource ColumnsOfB(int64_t j, Range terms) const {
    SplitSource out{.count = std::min(kSplitWidth, p_.n - j), .k = terms.size()};
    if (p_.b_packed) {
      out.from = p_.b + terms.begin * kSplitWidth + j / kSplitWidth * b_panel_;
      out.stride = kSplitWidth;
      out.along_terms = false;
      return out;
    }
    out.from = p_.b + terms.begin * p_.b_row + j * p_.b_column;
    out.along_terms = p_.b_column != 1;
    out.stride = out.along_terms ? p_.b_column : p_.b_row;
    return out;
  }

  void Tile(Range rows, int64_t j, Range terms, const char* a, bool special) {
    if (rows.size() != configured_) unit_.configure(configured_ = rows.size());
    const int64_t columns = std::min(kSplitWidth, p_.n - j);
    SplitTileCall call{.rows = rows.size(), .k = terms.size(), .a = a, .b = b_};
    if (direct_ && columns == kSplitWidth && !special) {
      call.tile = p_.c + rows.begin * p_.ldc + j;
      call.stride = p_.ldc;
      call.add = epilogue_.beta == 1;
      return unit_.tile(call);
    }
    alignas(64) float tile[kSplitWidth * kSplitWidth];
    call.tile = tile;
    call.stride = kSplitWidth;
    if (special) {
      MultiplyPlainly(rows, {j, j + columns}, terms, tile);
    } else {
      unit_.tile(call);
    }
    FinishCall<float> finish{.rows = rows.size(),
                             .columns = columns,
                             .tile = tile,
                             .tile_stride = kSplitWidth,
                             .c = p_.c + rows.begin * p_.ldc + j,
                             .ldc = p_.ldc,
                             .epilogue = epilogue_};
    if (epilogue_.row_bias) finish.epilogue.row_bias += rows.begin;
    if (epilogue_.column_bias) finish.epilogue.column_bias += j;
    kernels_.finish(finish);
  }

  // Infinity times the zero that a number's lower part may be would be no number.
  void MultiplyPlainly(Range rows, Range columns, Range terms, float* tile) const {
    for (int64_t i = rows.begin; i < rows.end; ++i, tile += kSplitWidth) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        float sum = 0;
        for (int64_t l = terms.begin; l < terms.end; ++l) {
          sum = std::fma(p_.a[i * p_.a_row + l * p_.a_column], OfB(l, j), sum);
        }
        tile[j - columns.begin] = sum;
      }
    }
  }
  float OfB(int64_t l, int64_t j) const {
    if (!p_.b_packed) return p_.b[l * p_.b_row + j * p_.b_column];
    return p_.b[j / kSplitWidth * b_panel_ + l * kSplitWidth + j % kSplitWidth];
  }

  const SplitKernels& unit_;
  const GemmKernels<float>& kernels_;
  const Product<float>& p_;
  const SplitBlocks& blocks_;
  const int64_t b_panel_;
  char* const a_;
  char* const b_;
  GemmEpilogue<float> epilogue_;
  bool direct_ = false;
  int64_t configured_ = 0;  // rows
};

// Costs in multiply-adds of vectors, of which two begin in a cycle; measured on a Sapphire Rapids.
constexpr double kSplitElement = 1.6;  // with what it waits for memory
constexpr double kTileCost = 600;
constexpr double kSliceCost = 20000;   // waking a thread (gemm_plan.cc)
constexpr double kVectorShare = 0.85;  // of the peak, by products that vectors compute

double Cost(int64_t m, int64_t n, int64_t k) {
  const SplitBlocks blocks(m, k);
  const auto steps = static_cast<double>(CeilDiv(k, kSplitTerms));
  const auto columns = static_cast<double>(CeilDiv(n, kSplitWidth));
  const auto row_blocks = static_cast<double>(CeilDiv(m, blocks.m));
  const auto tiles = static_cast<double>(CeilDiv(m, kSplitWidth) * CeilDiv(k, blocks.k)) * columns;
  const double split = static_cast<double>(m * k) + row_blocks * static_cast<double>(n * k);
  return 24 * static_cast<double>(m) * columns * steps + kSplitElement * split + kTileCost * tiles;
}

}  // namespace

SplitBlocks::SplitBlocks(int64_t rows, int64_t terms) {
  const int64_t cuts = std::max<int64_t>(1, CeilDiv(terms, kBlockTerms));
  k = std::max<int64_t>(1, RoundUp(CeilDiv(terms, cuts), kSplitTerms));
  const int64_t group = SplitBlockBytes(std::min(k, RoundUp(terms, kSplitTerms)));
  const int64_t fit =
      std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(1, group), 1, kMostGroups);
  const int64_t groups = CeilDiv(rows, kSplitWidth),
                passes = std::max<int64_t>(1, CeilDiv(groups, fit));
  m = std::max<int64_t>(1, CeilDiv(groups, passes)) * kSplitWidth;
  a_bytes = static_cast<size_t>(m / kSplitWidth * group);
  b_bytes = static_cast<size_t>(group);
}

bool SplitPays(int64_t m, int64_t n, int64_t k) {
  if (KernelsForSplit() == nullptr || m < 8 || n < kSplitSide || k < kSplitSide) return false;
  const double vectors = static_cast<double>(m * CeilDiv(n, kSplitSide)) * static_cast<double>(k);
  return Cost(m, n, k) < vectors / kVectorShare;
}

GemmGrid MakeSplitGrid(int64_t m, int64_t n, int64_t k, int slices) {
  GemmGrid best{.m_step = m, .n_step = n, .k_step = k};
  double least = Cost(m, n, k);
  const int useful = std::min(slices, static_cast<int>(least / kSliceCost));
  for (int rows = 1; rows <= useful; ++rows) {
    for (int columns = 1; rows * columns <= useful; ++columns) {
      const int most = useful / (rows * columns);
      for (int parts = 1; parts <= most; parts += std::max(1, most - 1)) {
        GemmGrid grid{rows, columns};
        grid.m_step = RoundUp(CeilDiv(m, rows), kSplitSide);
        grid.n_step = RoundUp(CeilDiv(n, columns), kSplitWidth);
        grid.k_step = RoundUp(CeilDiv(k, parts), kSplitTerms);
        grid.k = static_cast<int>(CeilDiv(k, grid.k_step));  // none is empty
        double cost =
            Cost(std::min(m, grid.m_step), std::min(n, grid.n_step), std::min(k, grid.k_step));
        if (parts > 1) {  // partial results are written, read and added
          cost += kSliceCost / 4 + static_cast<double>(m * n) / 8 * parts / useful;
        }
        if (cost >= least) continue;
        least = cost;
        best = grid;
      }
    }
  }
  return best;
}

void RunSplitCell(const SplitKernels& unit, const GemmKernels<float>& kernels,
                  const Product<float>& product, const SplitBlocks& blocks, int64_t b_panel,
                  void* scratch) {
  SplitCell(unit, kernels, product, blocks, b_panel, scratch).Run();
}

}  // namespace hr::cpu
