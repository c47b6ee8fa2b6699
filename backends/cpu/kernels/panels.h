// Products whose right-hand side lies in panels of columns: what the kernels of 8-bit numbers and
// of bfloat16 share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/partition.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// tile [rows][width of a panel] = A [rows][k] times a panel.
template <typename A, typename B, typename Sum>
struct PanelTileCall {
  int rows = 0;
  int64_t k = 0;
  const A* a = nullptr;
  int64_t lda = 0;
  const B* panel = nullptr;
  Sum* tile = nullptr;
};

// How an m x n product is computed tile by tile.
struct PanelTiles {
  int64_t m = 0, n = 0, k = 0;
  int64_t row_bytes = 0;  // of A
  int rows = 0;           // of the largest tile
  int width = 0;          // of a panel

  // Calls body(rows, panel) for each tile, on the thread that computes it, and end() behind the
  // last one of a thread's part. Rows and columns are cut so that the largest part is small.
  template <typename Body>
  void ForEach(const Lease& threads, int slices, const Body& body, void (*end)()) const {
    const Grid grid = MakeGrid(slices);
    threads.ParallelFor(grid.rows * grid.columns, [&](int task) {
      const Range part = PartOf(CeilDiv(m, rows), grid.rows, task % grid.rows);
      Cell({std::min(m, part.begin * rows), std::min(m, part.end * rows)},
           PartOf(CeilDiv(n, width), grid.columns, task / grid.rows), body);
      end();
    });
  }

  // The number of parts that ForEach makes.
  int Tasks(int slices) const {
    const Grid grid = MakeGrid(slices);
    return grid.rows * grid.columns;
  }

 private:
  // Rows of A that stay in the second-level cache while panels pass by.
  static constexpr int64_t kBlockBytes = 256 << 10;
  // Fewer products than this are not worth waking a thread for.
  static constexpr int64_t kWorkOfTask = 1 << 18;

  struct Grid {
    int rows = 1, columns = 1;
  };

  Grid MakeGrid(int slices) const {
    const int64_t tiles = CeilDiv(m, rows), panels = CeilDiv(n, width);
    const int64_t useful = std::max<int64_t>(1, m * n * k / kWorkOfTask);
    const int most = static_cast<int>(std::min<int64_t>(slices, useful));
    Grid best;
    int64_t least = tiles * panels;
    for (int cuts = most; cuts >= 1; --cuts) {
      const int columns = most / cuts;
      const int64_t largest = CeilDiv(tiles, cuts) * CeilDiv(panels, columns);
      if (largest < least) best = {cuts, columns}, least = largest;
    }
    return best;
  }

  template <typename Body>
  void Cell(Range part, Range panels, const Body& body) const {
    const int64_t fit = std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, row_bytes));
    const int64_t step = RoundUp(fit, rows);
    for (int64_t i = part.begin; i < part.end; i += step) {
      const Range block{i, std::min(part.end, i + step)};
      for (int64_t panel = panels.begin; panel < panels.end; ++panel) Panel(block, panel, body);
    }
  }

  // Tiles of nearly equal height.
  template <typename Body>
  void Panel(Range block, int64_t panel, const Body& body) const {
    const int64_t tiles = CeilDiv(block.size(), rows);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const Range part = PartOf(block.size(), tiles, tile);
      body(Range{block.begin + part.begin, block.begin + part.end}, panel);
    }
  }
};

}  // namespace hr::cpu
