#include "backends/cpu/onednn/matmul.h"

#include <algorithm>

#include "backends/cpu/onednn/tasks.h"

namespace hr::cpu::onednn {
namespace {

// Cells below this size lose more at their edges than another thread gains.
constexpr int64_t kLeastCell = 32;

struct Grid {
  int64_t rows = 1, columns = 1;
};

// The most cells, and among those grids the one whose cells read least.
Grid CutInto(const GemmShape& s, int slices) {
  Grid best;
  const auto reads = [&](const Grid& grid) {
    return CeilDiv(s.m, grid.rows) + CeilDiv(s.n, grid.columns);
  };
  for (int64_t rows = 1; rows <= std::min<int64_t>(slices, s.m / kLeastCell); ++rows) {
    const Grid grid{rows, std::clamp<int64_t>(s.n / kLeastCell, 1, slices / rows)};
    const int64_t cells = grid.rows * grid.columns, most = best.rows * best.columns;
    if (cells > most || (cells == most && reads(grid) < reads(best))) best = grid;
  }
  if (best.rows * best.columns == 1)
    best.columns = std::clamp<int64_t>(s.n / kLeastCell, 1, slices);
  return best;
}

}  // namespace

Result<std::shared_ptr<const MatMul>> MatMul::Create(const GemmShape& shape,
                                                     const MatMulOptions& options) {
  std::shared_ptr<MatMul> out(new MatMul(shape, options));
  HR_ASSIGN_OR_RETURN(out->library_, Library::Open());
  SerialScope scope(*out->library_);
  HR_RETURN_IF_ERROR(out->AddCells());
  return std::shared_ptr<const MatMul>(std::move(out));
}

Status MatMul::AddCells() {
  const Grid grid = CutInto(s_, options_.slices);
  for (int64_t column = 0; column < grid.columns; ++column) {
    const Range columns = PartAtBlocks(s_.n, grid.columns, column);
    for (int64_t row = 0; row < grid.rows; ++row) {
      const Range rows = PartOf(s_.m, grid.rows, row);
      HR_ASSIGN_OR_RETURN(size_t kind, KindOf(rows.size(), columns.size()));
      cells_.push_back({kind, rows.begin, columns.begin, packed_bytes_});
    }
    packed_bytes_ += kinds_[cells_.back().kind].packed_bytes;
  }
  rows_cut_ = static_cast<size_t>(grid.rows);
  for (const Kind& kind : kinds_) {
    const size_t bytes = std::max(kind.product.scratch_bytes(), kind.pack.scratch_bytes());
    scratch_bytes_ = std::max(scratch_bytes_, AlignedBytes(bytes));
  }
  return {};
}

Result<size_t> MatMul::KindOf(int64_t rows, int64_t columns) {
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].rows == rows && kinds_[i].columns == columns) return i;
  }
  HR_ASSIGN_OR_RETURN(Kind kind, MakeKind(rows, columns));
  kinds_.push_back(std::move(kind));
  return kinds_.size() - 1;
}

Result<MatMul::Kind> MatMul::MakeKind(int64_t rows, int64_t columns) const {
  const int64_t a_dims[] = {rows, s_.k}, b_dims[] = {s_.k, columns}, c_dims[] = {rows, columns};
  const int64_t a_strides[] = {s_.transpose_a ? 1 : s_.lda, s_.transpose_a ? s_.lda : 1};
  const int64_t b_strides[] = {s_.transpose_b ? 1 : s_.ldb, s_.transpose_b ? s_.ldb : 1};
  const int64_t c_strides[] = {s_.ldc, 1};
  const int64_t bias_dims[] = {1, columns}, bias_strides[] = {columns, 1};
  HR_ASSIGN_OR_RETURN(MemoryDesc a, Strided(a_dims, a_strides));
  HR_ASSIGN_OR_RETURN(MemoryDesc plain_b, Strided(b_dims, b_strides));
  HR_ASSIGN_OR_RETURN(MemoryDesc any_b, AnyLayout(b_dims));
  HR_ASSIGN_OR_RETURN(MemoryDesc c, Strided(c_dims, c_strides));
  HR_ASSIGN_OR_RETURN(MemoryDesc bias, Strided(bias_dims, bias_strides));
  HR_ASSIGN_OR_RETURN(Attributes attributes, MakeAttributes());
  const_dnnl_memory_desc_t b = options_.packed_b ? any_b.get() : plain_b.get();
  for (const Kind& other : kinds_) {  // what it packed must do for this one
    if (options_.packed_b && other.columns == columns) b = other.PackedLayout();
  }
  Kind kind{.rows = rows, .columns = columns};
  HR_RETURN_IF_ERROR(
      Check(Dnnl().matmul_primitive_desc_create(kind.desc.out(), library_->engine(), a.get(), b,
                                                options_.column_bias ? bias.get() : nullptr,
                                                c.get(), attributes.get()),
            "matrix product"));
  std::vector<Primitive::Argument> arguments = {
      {DNNL_ARG_SRC, a.get()}, {DNNL_ARG_WEIGHTS, kind.PackedLayout()}, {DNNL_ARG_DST, c.get()}};
  if (options_.column_bias) arguments.push_back({DNNL_ARG_BIAS, bias.get()});
  HR_ASSIGN_OR_RETURN(kind.product,
                      Primitive::Create(*library_, kind.desc.get(), arguments, options_.slices));
  if (!options_.packed_b) return kind;
  HR_ASSIGN_OR_RETURN(kind.pack, Primitive::Reorder(*library_, plain_b.get(), kind.PackedLayout(),
                                                    options_.slices));
  kind.packed_bytes = AlignedBytes(Dnnl().memory_desc_get_size(kind.PackedLayout()));
  return kind;
}

Status MatMul::Run(const Lease& threads, const float* a, const float* b, const float* bias,
                   float* c, void* scratch) const {
  return ForTasks(*library_, threads, static_cast<int>(cells_.size()), [&](int task) {
    const Cell& cell = cells_[static_cast<size_t>(task)];
    const float* b_cell = b + cell.j * (s_.transpose_b ? s_.ldb : 1);
    if (options_.packed_b) b_cell = b + cell.packed_offset / sizeof(float);
    void* const memory[] = {const_cast<float*>(a + cell.i * (s_.transpose_a ? 1 : s_.lda)),
                            const_cast<float*>(b_cell), c + cell.i * s_.ldc + cell.j,
                            options_.column_bias ? const_cast<float*>(bias + cell.j) : nullptr};
    const Kind& kind = kinds_[cell.kind];
    Status status = kind.product.Execute(std::span(memory, options_.column_bias ? 4 : 3),
                                         ScratchOf(scratch, scratch_bytes_, task));
    Activate(options_.activation, kind.rows, kind.columns, s_.ldc, static_cast<float*>(memory[2]));
    return status;
  });
}

std::string MatMul::packed_format() const {
  std::string out = s_.transpose_b ? "of rows " : "";
  for (size_t i = 0; i < cells_.size(); i += rows_cut_) {
    out += Cat("at ", cells_[i].j, ": ", LayoutText(kinds_[cells_[i].kind].PackedLayout()));
  }
  return out;
}

Status MatMul::Pack(const Lease& threads, const float* b, float* packed, void* scratch) const {
  const auto columns = static_cast<int>(cells_.size() / rows_cut_);
  return ForTasks(*library_, threads, columns, [&](int task) {
    const Cell& cell = cells_[static_cast<size_t>(task) * rows_cut_];
    const float* from = b + cell.j * (s_.transpose_b ? s_.ldb : 1);
    void* const memory[] = {const_cast<float*>(from), packed + cell.packed_offset / sizeof(float)};
    return kinds_[cell.kind].pack.Execute(memory, ScratchOf(scratch, scratch_bytes_, task));
  });
}

}  // namespace hr::cpu::onednn
