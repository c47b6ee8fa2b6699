#include "backends/cpu/kernels/narrow_attention.h"

#include <algorithm>

namespace hr::cpu {
namespace {

constexpr size_t kLine = 64;

// The products of a block of float32, all operands dense but for the keys' order.
GemmShape ScoresOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.keys, s.size, false, !s.turned_k, s.size, s.turned_k ? s.keys : s.size, s.keys};
}
GemmShape OutputOf(const AttentionShape& s, int64_t rows) {
  return {rows, s.value_size, s.keys, false, false, s.keys, s.value_size, s.value_size};
}

size_t Floats(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

template <typename T>
T* At(char* memory, size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

}  // namespace

struct NarrowAttention::Head {
  const uint16_t *q, *k, *v;
  AttentionMaskData masks;
  uint16_t* out;
};

size_t NarrowAttention::Memory::Take(size_t bytes) {
  const size_t begin = end;
  end += (bytes + kLine - 1) / kLine * kLine;
  return begin;
}

NarrowAttention::NarrowAttention(const AttentionShape& shape, DType dtype,
                                 const Bfloat16Kernels* products, int slices)
    : s_(shape),
      products_(products),
      load_(LoaderFor(dtype, ElementType::kFloat)),
      store_(StorerFor(ElementType::kFloat, dtype)),
      cut_(CutQueries<float>(shape, slices)),
      rows_(CeilDiv(shape.queries, cut_.blocks)) {
  memory_.scores = memory_.Take(Floats(rows_ * s_.keys));
  products_ != nullptr ? PlaceNarrow() : PlaceWide();
}

void NarrowAttention::PlaceNarrow() {
  memory_.k = memory_.Take(PackedBfloat16Bytes(s_.keys, s_.size));
  memory_.v = memory_.Take(PackedBfloat16Bytes(s_.value_size, s_.keys));
  memory_.probabilities = memory_.Take(Floats(rows_ * s_.keys) / 2);
}

void NarrowAttention::PlaceWide() {
  memory_.k = memory_.Take(Floats(s_.keys * s_.size));
  memory_.v = memory_.Take(Floats(s_.keys * s_.value_size));
  memory_.q = memory_.Take(Floats(rows_ * s_.size));
  memory_.out = memory_.Take(Floats(rows_ * s_.value_size));
  size_t product = 0;
  for (int64_t rows : {rows_, s_.queries / cut_.blocks}) {
    product = std::max({product, GemmScratchBytes<float>(ScoresOf(s_, rows), 1),
                        GemmScratchBytes<float>(OutputOf(s_, rows), 1)});
  }
  memory_.product = memory_.Take(product);
}

void NarrowAttention::LoadNarrow(const Head& head, char* memory) const {
  const GemmShape k{.n = s_.keys, .k = s_.size, .transpose_b = !s_.turned_k, .ldb = s_.k.row};
  const GemmShape v{.n = s_.value_size, .k = s_.keys, .ldb = s_.v.row};
  PackBfloat16(*products_, Lease(), k, head.k, At<uint16_t>(memory, memory_.k), 1);
  PackBfloat16(*products_, Lease(), v, head.v, At<uint16_t>(memory, memory_.v), 1);
}

void NarrowAttention::LoadWide(const Head& head, char* memory) const {
  const int64_t rows = s_.turned_k ? s_.size : s_.keys, columns = s_.turned_k ? s_.keys : s_.size;
  auto* const k = At<float>(memory, memory_.k);
  for (int64_t i = 0; i < rows; ++i) load_(head.k + i * s_.k.row, k + i * columns, columns);
  auto* const v = At<float>(memory, memory_.v);
  for (int64_t i = 0; i < s_.keys; ++i) {
    load_(head.v + i * s_.v.row, v + i * s_.value_size, s_.value_size);
  }
}

void NarrowAttention::MultiplyNarrow(const Head& head, Range rows, char* memory) const {
  const GemmShape scores_shape{
      .m = rows.size(), .n = s_.keys, .k = s_.size, .lda = s_.q.row, .ldc = s_.keys};
  const GemmShape out_shape{
      .m = rows.size(), .n = s_.value_size, .k = s_.keys, .lda = s_.keys, .ldc = s_.out.row};
  auto* const scores = At<float>(memory, memory_.scores);
  auto* const probabilities = At<uint16_t>(memory, memory_.probabilities);
  Bfloat16Gemm(*products_, Lease(), scores_shape, head.q + rows.begin * s_.q.row,
               At<uint16_t>(memory, memory_.k), scores, {.alpha = static_cast<float>(s_.scale)}, 1,
               nullptr);
  MakeProbabilities(s_, head.masks, rows.begin, rows.size(), scores);
  store_(scores, probabilities, rows.size() * s_.keys);
  Bfloat16Gemm(*products_, Lease(), out_shape, probabilities, At<uint16_t>(memory, memory_.v),
               head.out + rows.begin * s_.out.row, {.narrow = true}, 1, nullptr);
}

void NarrowAttention::MultiplyWide(const Head& head, Range rows, char* memory) const {
  auto* const q = At<float>(memory, memory_.q);
  auto* const scores = At<float>(memory, memory_.scores);
  auto* const out = At<float>(memory, memory_.out);
  void* const product = memory + memory_.product;
  for (int64_t i = 0; i < rows.size(); ++i) {
    load_(head.q + (rows.begin + i) * s_.q.row, q + i * s_.size, s_.size);
  }
  Gemm<float>(Lease(), ScoresOf(s_, rows.size()), q, At<float>(memory, memory_.k), scores,
              {.alpha = static_cast<float>(s_.scale)}, 1, product);
  MakeProbabilities(s_, head.masks, rows.begin, rows.size(), scores);
  Gemm<float>(Lease(), OutputOf(s_, rows.size()), scores, At<float>(memory, memory_.v), out, {}, 1,
              product);
  for (int64_t i = 0; i < rows.size(); ++i) {
    store_(out + i * s_.value_size, head.out + (rows.begin + i) * s_.out.row, s_.value_size);
  }
}

void NarrowAttention::Run(const Lease& threads, const uint16_t* q, const uint16_t* k,
                          const uint16_t* v, const AttentionMaskData& masks, uint16_t* out,
                          void* scratch) const {
  cut_.Run(threads, [&](int64_t h, int64_t block, int task, bool is_new) {
    char* const memory = static_cast<char*>(scratch) + memory_.end * static_cast<size_t>(task);
    const Head head{q + OffsetOfHead(s_.q, s_, h), k + OffsetOfHead(s_.k, s_, h),
                    v + OffsetOfHead(s_.v, s_, h), MasksOfHead(s_, masks, h),
                    out + OffsetOfHead(s_.out, s_, h)};
    const Range rows = PartOf(s_.queries, cut_.blocks, block);
    if (products_ != nullptr) {
      if (is_new) LoadNarrow(head, memory);
      MultiplyNarrow(head, rows, memory);
    } else {
      if (is_new) LoadWide(head, memory);
      MultiplyWide(head, rows, memory);
    }
  });
}

}  // namespace hr::cpu
