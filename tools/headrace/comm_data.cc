#include "tools/headrace/comm_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tools/headrace/comm_options.h"

namespace headrace::tool {
namespace {

constexpr uint64_t kPeriod = 4;

// Sums and products stay below 127, which every type holds: ranks beyond these bring nothing new.
constexpr int kSummands = 40, kFactors = 6;

int InputValue(hr_reduce_op op, int32_t rank, uint64_t index) {
  const int i = static_cast<int>(index % kPeriod);
  if (op == HR_AVERAGE) return i % 2;
  if (op == HR_PRODUCT) return rank < kFactors ? 1 + (rank + i) % 2 : 1;
  return rank < kSummands ? (rank + i) % 4 : 0;
}

int Reduced(hr_reduce_op op, int32_t ranks, uint64_t index) {
  int result = InputValue(op, 0, index);
  for (int32_t rank = 1; rank < ranks; ++rank) {
    const int value = InputValue(op, rank, index);
    switch (op) {
      case HR_PRODUCT: result *= value; break;
      case HR_MIN: result = std::min(result, value); break;
      case HR_MAX: result = std::max(result, value); break;
      case HR_AVERAGE: break;  // all ranks have the same
      default: result += value;
    }
  }
  return result;
}

uint16_t HalfOf(int value) {  // exact for 0 to 2048
  if (value == 0) return 0;
  const int exponent = std::bit_width(static_cast<unsigned>(value)) - 1;
  return static_cast<uint16_t>((exponent + 15) << 10 | (value << 10 >> exponent & 0x3FF));
}

template <typename T>
void Put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void Encode(hr_dtype dtype, int value, std::byte* to) {
  switch (dtype) {
    case HR_FLOAT32: return Put(to, static_cast<float>(value));
    case HR_FLOAT64: return Put(to, static_cast<double>(value));
    case HR_FLOAT16: return Put(to, HalfOf(value));
    case HR_BFLOAT16:
      return Put(to,
                 static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
    default: {  // integers, little-endian
      const auto wide = static_cast<int64_t>(value);
      std::memcpy(to, &wide, hr_dtype_size(dtype));
    }
  }
}

// One period of elements that begins at index `begin`.
template <typename ValueAt>
std::array<std::byte, 8 * kPeriod> Period(hr_dtype dtype, uint64_t begin, ValueAt value_at) {
  std::array<std::byte, 8 * kPeriod> bytes{};
  for (uint64_t i = 0; i < kPeriod; ++i) {
    Encode(dtype, value_at(begin + i), bytes.data() + i * hr_dtype_size(dtype));
  }
  return bytes;
}

}  // namespace

CommData::CommData(uint64_t bytes, bool in_place, int32_t rank, int32_t ranks)
    : rank_(rank), ranks_(ranks), output_(bytes), input_(in_place ? 0 : bytes) {}

void CommData::Prepare(hr_operation& operation) {
  const uint64_t width = hr_dtype_size(operation.dtype);
  const uint64_t own = static_cast<uint64_t>(rank_) * operation.count * width;
  std::byte* input = input_.empty() ? output_.data() : input_.data();
  operation.output = output_.data();
  if (input_.empty() && operation.kind != HR_OPERATION_ALL_TO_ALL) {
    if (HasBlocks(operation.kind)) input += own;
    if (TakesBlocks(operation.kind)) operation.output = output_.data() + own;
  }
  operation.input = input;
  const auto period = Period(
      operation.dtype, 0, [&](uint64_t index) { return InputValue(operation.op, rank_, index); });
  const uint64_t count =
      operation.count * (TakesBlocks(operation.kind) ? static_cast<uint64_t>(ranks_) : 1);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(input + i * width, period.data() + i % kPeriod * width, width);
  }
}

uint64_t CommData::CountErrors(const hr_operation& operation) const {
  const bool rooted =
      operation.kind == HR_OPERATION_REDUCE || operation.kind == HR_OPERATION_GATHER;
  if (rooted && rank_ != operation.peer) return 0;
  const bool reduces = operation.kind == HR_OPERATION_REDUCE ||
                       operation.kind == HR_OPERATION_ALL_REDUCE ||
                       operation.kind == HR_OPERATION_REDUCE_SCATTER;
  const uint64_t width = hr_dtype_size(operation.dtype), count = operation.count;
  const uint64_t begin = TakesBlocks(operation.kind) ? static_cast<uint64_t>(rank_) * count : 0;
  const auto* output = static_cast<const std::byte*>(operation.output);
  uint64_t errors = 0;
  for (int32_t block = 0; block < (HasBlocks(operation.kind) ? ranks_ : 1); ++block) {
    const int32_t from = HasBlocks(operation.kind) ? block : operation.peer;
    const auto period = Period(operation.dtype, begin, [&](uint64_t index) {
      return reduces ? Reduced(operation.op, ranks_, index) : InputValue(operation.op, from, index);
    });
    const std::byte* at = output + static_cast<uint64_t>(block) * count * width;
    for (uint64_t i = 0; i < count; ++i) {
      errors += std::memcmp(at + i * width, period.data() + i % kPeriod * width, width) != 0;
    }
  }
  return errors;
}

}  // namespace headrace::tool
