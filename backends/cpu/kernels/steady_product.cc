#include "backends/cpu/kernels/steady_product.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/gemm.h"
#include "backends/cpu/kernels/gemm_kernels.h"

namespace hr::cpu {
namespace {

// Costs in multiply-adds of vectors, of which two begin in a cycle; measured on a Sapphire Rapids.
constexpr double kVectorShare = 0.85;  // of the peak
constexpr double kNearBytes = 24;      // from the second-level cache, in the time of one
constexpr double kFarBytes = 6.5;      // from behind it
// Of the second-level cache: what certainly stays there, and what certainly does not. Between them
// it depends on where pages happen to lie.
constexpr double kNearSize = 1 << 20, kFarSize = 2 << 20;
constexpr double kSplitElement = 0.8;
constexpr int64_t kSplitBytes = 6;  // of an element

double ReadCost(int64_t elements, int64_t others, int64_t bytes_each) {
  const auto all = static_cast<double>((elements + others) * bytes_each);
  const double far = std::clamp((all - kNearSize) / (kFarSize - kNearSize), 0.0, 1.0);
  return static_cast<double>(elements * bytes_each) * (far / kFarBytes + (1 - far) / kNearBytes);
}

// Groups of rows that are split before the panels pass by: they stay in the second-level cache.
constexpr int64_t kMostGroups = 4, kGroupBytes = 256 << 10;
int64_t Groups(int64_t k) {
  return std::clamp<int64_t>(kGroupBytes / std::max<int64_t>(1, SplitBlockBytes(k)), 1,
                             kMostGroups);
}

template <typename T>
double VectorCost(const SteadyShape& shape, int64_t others) {
  const auto lanes = static_cast<int64_t>(KernelsForGemm<T>().lanes);
  const double sums =
      static_cast<double>(shape.rows * CeilDiv(shape.n(), lanes) * shape.k) / kVectorShare;
  return std::max(sums, ReadCost(shape.n() * shape.k, others, sizeof(T)));
}

double UnitCost(const SteadyShape& shape, int64_t others) {
  const int64_t panels = shape.pieces * CeilDiv(shape.columns, kSplitWidth);
  const int64_t steps = panels * CeilDiv(shape.k, kSplitTerms);
  const int64_t elements = steps * kSplitWidth * kSplitTerms;
  const double read = ReadCost(elements, others, kSplitBytes) *
                      static_cast<double>(CeilDiv(shape.rows, Groups(shape.k) * kSplitWidth));
  const double sums = static_cast<double>(shape.rows * steps);
  return std::max(24 * sums, read + 8 * sums) +
         kSplitElement * static_cast<double>(shape.rows * shape.k);
}

template <typename T>
const SplitKernels* UnitFor(const SteadyShape& shape, int64_t others) {
  if (!std::is_same_v<T, float>) return nullptr;
  const SplitKernels* const unit = SplitKernelsInUse();
  if (unit == nullptr || UnitCost(shape, others) >= VectorCost<T>(shape, others)) return nullptr;
  return unit;
}

// C += a tile, of which C has `columns`.
void AddTile(void (*multiply)(const SplitTileCall&), const SteadyCall<float>& call, int64_t columns,
             SplitTileCall tile) {
  if (columns == kSplitWidth) {
    tile.tile = call.c;
    tile.stride = call.ldc;
    tile.add = true;
    return multiply(tile);
  }
  alignas(64) float sums[kSplitWidth * kSplitWidth];
  tile.tile = sums;
  tile.stride = kSplitWidth;
  multiply(tile);
  for (int64_t i = 0; i < call.rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) call.c[i * call.ldc + j] += sums[i * kSplitWidth + j];
  }
}

template <typename T>
void StartSums(const SteadyCall<T>& call, int64_t n) {
  if (call.add) return;
  for (int64_t i = 0; i < call.rows; ++i) {
    T* const c = call.c + i * call.ldc;
    call.bias == nullptr ? std::fill_n(c, n, T(0)) : std::copy_n(call.bias, n, c);
  }
}

}  // namespace

template <typename T>
int64_t SteadyColumns() {
  return std::max<int64_t>(kSplitWidth, 2 * KernelsForGemm<T>().lanes);
}

template <typename T>
double SteadyCost(const SteadyShape& shape, int64_t others) {
  return UnitFor<T>(shape, others) != nullptr ? UnitCost(shape, others)
                                              : VectorCost<T>(shape, others);
}

template <typename T>
SteadyProduct<T>::SteadyProduct(const SteadyShape& shape, int64_t others)
    : shape_(shape), unit_(UnitFor<T>(shape, others)) {}

template <typename T>
size_t SteadyProduct<T>::memory_bytes() const {
  if (unit_ == nullptr) return PackedBBytes<T>(shape_.n(), shape_.k);
  return static_cast<size_t>(panels() * SplitBlockBytes(shape_.k) + panels());  // and flags
}

template <typename T>
size_t SteadyProduct<T>::scratch_bytes(std::initializer_list<int64_t> rows, int64_t lda) const {
  if (unit_ != nullptr) {
    const int64_t groups = CeilDiv(std::max(rows), kSplitWidth);
    return static_cast<size_t>(std::min(groups, Groups(shape_.k)) * SplitBlockBytes(shape_.k));
  }
  size_t most = 0;
  for (int64_t m : rows) {
    GemmShape shape = GemmShape::Dense(m, shape_.n(), shape_.k);
    shape.lda = lda;
    most = std::max(most, GemmPackedBScratchBytes<T>(shape, 1));
  }
  return most;
}

template <typename T>
typename SteadyProduct<T>::Panel SteadyProduct<T>::PanelOf(const SteadyMatrix<T>& b,
                                                           int64_t index) const {
  const int64_t width = SteadyColumns<T>(), of_piece = CeilDiv(shape_.columns, width);
  const int64_t piece = index / of_piece, j = index % of_piece * width;
  return {.column = piece * shape_.columns + j,
          .count = std::clamp<int64_t>(b.columns - j, 0, width),
          .width = std::min(width, shape_.columns - j),
          .rows = b.rows + (piece * b.distance + j) * shape_.k};
}

template <typename T>
void SteadyProduct<T>::Prepare(const SteadyMatrix<T>& b, Range panels) const {
  for (int64_t i = panels.begin; i < panels.end; ++i) {
    const Panel panel = PanelOf(b, i);
    if constexpr (std::is_same_v<T, float>) {
      if (unit_ != nullptr) {
        const int64_t bytes = SplitBlockBytes(shape_.k);
        char* const to = reinterpret_cast<char*>(b.memory + i * bytes);
        std::fill_n(to, panel.count == 0 ? bytes : 0, char(0));
        const SplitMarks marks = unit_->split_b(
            {.from = panel.rows, .stride = shape_.k, .count = panel.count, .k = shape_.k}, to);
        b.memory[this->panels() * bytes + i] = std::byte{marks.ToByte()};
        continue;
      }
    }
    T* const to = reinterpret_cast<T*>(b.memory) + panel.column * shape_.k;
    if (panel.count < panel.width) std::fill_n(to, panel.width * shape_.k, T(0));
    if (panel.count == 0) continue;
    PackB<T>(Lease(), panel.count, shape_.k, true, panel.rows, shape_.k, to, 1);
  }
}

template <typename T>
void SteadyProduct<T>::RunOnVectors(const SteadyMatrix<T>& b, const SteadyCall<T>& call,
                                    void* scratch) const {
  GemmShape shape = GemmShape::Dense(call.rows, shape_.n(), shape_.k);
  shape.lda = call.lda;
  shape.ldc = call.ldc;
  GemmPackedB<T>(Lease(), shape, call.a, reinterpret_cast<const T*>(b.memory), call.c,
                 {.beta = call.add ? T(1) : T(0), .column_bias = call.bias}, 1, scratch);
}

// As many rows as Groups says.
template <>
void SteadyProduct<float>::AddOnUnit(const SteadyMatrix<float>& b, const SteadyCall<float>& call,
                                     char* a) const {
  const int64_t bytes = SplitBlockBytes(shape_.k), count = panels();
  const SplitMarks marks =
      unit_->split_a({.from = call.a, .stride = call.lda, .count = call.rows, .k = shape_.k}, a);
  int64_t configured = 0;
  for (int64_t j = 0; j < count; ++j) {
    const Panel panel = PanelOf(b, j);
    const SplitMarks marks_b =
        SplitMarks::FromByte(std::to_integer<uint8_t>(b.memory[count * bytes + j]));
    for (int64_t i = 0; i < call.rows; i += kSplitWidth) {
      SteadyCall<float> part = call;
      part.rows = std::min(kSplitWidth, call.rows - i);
      part.a += i * call.lda;
      part.c += i * call.ldc + panel.column;
      const bool plain = NeedVectors(marks.At(i / kSplitWidth), marks_b);
      if (!plain && part.rows != configured) unit_->configure(configured = part.rows);
      AddTile(plain ? unit_->plain_tile : unit_->tile, part, panel.width,
              {.rows = part.rows,
               .k = shape_.k,
               .a = a + i / kSplitWidth * bytes,
               .b = reinterpret_cast<const char*>(b.memory + j * bytes)});
    }
  }
}

// Only float runs on the unit.
template <>
void SteadyProduct<double>::AddOnUnit(const SteadyMatrix<double>&, const SteadyCall<double>&,
                                      char*) const {}

template <typename T>
void SteadyProduct<T>::Run(const SteadyMatrix<T>& b, const SteadyCall<T>& call,
                           void* scratch) const {
  if (unit_ == nullptr) return RunOnVectors(b, call, scratch);
  StartSums(call, shape_.n());
  const int64_t most = Groups(shape_.k) * kSplitWidth;
  for (int64_t i = 0; i < call.rows; i += most) {
    SteadyCall<T> part = call;
    part.rows = std::min(most, call.rows - i);
    part.a += i * call.lda;
    part.c += i * call.ldc;
    AddOnUnit(b, part, static_cast<char*>(scratch));
  }
  unit_->release();
}

#define HR_INSTANTIATE(T)                                     \
  template int64_t SteadyColumns<T>();                        \
  template double SteadyCost<T>(const SteadyShape&, int64_t); \
  template class SteadyProduct<T>;
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
