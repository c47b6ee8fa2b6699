#include "backends/cpu/kernels/split_cell.h"

#include <algorithm>

#include "backends/cpu/kernels/gemm_cell.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockTerms = 384;
constexpr int64_t kBytesOfA = 640 << 10;  // of the second-level cache
constexpr int64_t kBytesOfB = 512 << 10;

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
    const SplitMarks marks_a = unit_.split_a(RowsOfA(rows, terms), a_);
    const int64_t block = SplitBlockBytes(terms.size());
    for (int64_t j = 0; j < p_.n; j += blocks_.n) {
      const Range columns{j, std::min(p_.n, j + blocks_.n)};
      const SplitMarks marks_b = SplitColumns(columns, terms);
      for (int64_t i = 0; rows.begin + i * kSplitWidth < rows.end; ++i) {
        for (int64_t panel = 0; j + panel * kSplitWidth < columns.end; ++panel) {
          Tile(PartAt(rows, i), PartAt(columns, panel), terms, a_ + i * block, b_ + panel * block,
               NeedVectors(marks_a.At(i), marks_b.At(panel)));
        }
      }
    }
  }

  static Range PartAt(Range whole, int64_t index) {
    const int64_t begin = whole.begin + index * kSplitWidth;
    return {begin, std::min(whole.end, begin + kSplitWidth)};
  }

  SplitSource RowsOfA(Range rows, Range terms) const {
    const bool along = p_.a_column == 1;
    return {.from = p_.a + rows.begin * p_.a_row + terms.begin * p_.a_column,
            .stride = along ? p_.a_row : p_.a_column,
            .along_terms = along,
            .count = rows.size(),
            .k = terms.size()};
  }

  SplitMarks SplitColumns(Range columns, Range terms) const {
    if (p_.b_packed) return SplitPanels(columns, terms);
    const bool along = p_.b_column != 1;
    return unit_.split_b({.from = p_.b + terms.begin * p_.b_row + columns.begin * p_.b_column,
                          .stride = along ? p_.b_column : p_.b_row,
                          .along_terms = along,
                          .count = columns.size(),
                          .k = terms.size()},
                         b_);
  }

  SplitMarks SplitPanels(Range columns, Range terms) const {
    SplitMarks marks;
    for (int64_t panel = 0; columns.begin + panel * kSplitWidth < columns.end; ++panel) {
      const int64_t index = columns.begin / kSplitWidth + panel;
      marks.AddBlock(panel,
                     unit_.split_b({.from = p_.b + terms.begin * kSplitWidth + index * b_panel_,
                                    .stride = kSplitWidth,
                                    .along_terms = false,
                                    .count = PartAt(columns, panel).size(),
                                    .k = terms.size()},
                                   b_ + panel * SplitBlockBytes(terms.size())));
    }
    return marks;
  }

  void Tile(Range rows, Range columns, Range terms, const char* a, const char* b, bool special) {
    SplitTileCall call{.rows = rows.size(), .k = terms.size(), .a = a, .b = b};
    float* const c = p_.c + rows.begin * p_.ldc + columns.begin;
    if (direct_ && columns.size() == kSplitWidth) {
      call.tile = c;
      call.stride = p_.ldc;
      call.add = epilogue_.beta == 1;
      return Multiply(call, special);
    }
    alignas(64) float tile[kSplitWidth * kSplitWidth];
    call.tile = tile;
    call.stride = kSplitWidth;
    Multiply(call, special);
    FinishCall<float> finish{.rows = rows.size(),
                             .columns = columns.size(),
                             .tile = tile,
                             .tile_stride = kSplitWidth,
                             .c = c,
                             .ldc = p_.ldc,
                             .epilogue = epilogue_};
    if (epilogue_.row_bias) finish.epilogue.row_bias += rows.begin;
    if (epilogue_.column_bias) finish.epilogue.column_bias += columns.begin;
    kernels_.finish(finish);
  }

  void Multiply(const SplitTileCall& call, bool special) {
    if (special) return unit_.plain_tile(call);
    if (call.rows != configured_) unit_.configure(configured_ = call.rows);
    unit_.tile(call);
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

// The size of nearly equal parts, which are multiples of `unit` and at most `most`.
int64_t Part(int64_t total, int64_t most, int64_t unit) {
  const int64_t parts = std::max<int64_t>(1, CeilDiv(total, most));
  return std::max(unit, RoundUp(CeilDiv(total, parts), unit));
}

double Cost(int64_t m, int64_t n, int64_t k) {
  const SplitBlocks blocks(m, n, k);
  const auto steps = static_cast<double>(CeilDiv(k, kSplitTerms));
  const auto columns = static_cast<double>(CeilDiv(n, kSplitWidth));
  const auto row_blocks = static_cast<double>(CeilDiv(m, blocks.m));
  const auto tiles = static_cast<double>(CeilDiv(m, kSplitWidth) * CeilDiv(k, blocks.k)) * columns;
  const double split = static_cast<double>(m * k) + row_blocks * static_cast<double>(n * k);
  return 24 * static_cast<double>(m) * columns * steps + kSplitElement * split + kTileCost * tiles;
}

}  // namespace

SplitBlocks::SplitBlocks(int64_t rows, int64_t columns, int64_t terms) {
  k = Part(RoundUp(terms, kSplitTerms), kBlockTerms, kSplitTerms);
  const int64_t block = SplitBlockBytes(k);
  const auto most = [&](int64_t bytes) {
    return std::clamp<int64_t>(bytes / block, 1, kMostSplitBlocks) * kSplitWidth;
  };
  m = Part(RoundUp(rows, kSplitWidth), most(kBytesOfA), kSplitWidth);
  n = Part(RoundUp(columns, kSplitWidth), most(kBytesOfB), kSplitWidth);
  a_bytes = static_cast<size_t>(m / kSplitWidth * block);
  b_bytes = static_cast<size_t>(n / kSplitWidth * block);
}

bool SplitPays(int64_t m, int64_t n, int64_t k) {
  if (SplitKernelsInUse() == nullptr || m < 8 || n < kSplitSide || k < kSplitSide) return false;
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
          cost += kSliceCost / 4 + 2 * static_cast<double>(m * n) * parts / useful;
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
