#include "backends/cpu/ops/product_end.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {
namespace {

Int8Output OutputOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8: return Int8Output::kInt8;
    case DType::kUint8: return Int8Output::kUint8;
    case DType::kFloat32: return Int8Output::kFloat;
    default: return Int8Output::kInt32;
  }
}

}  // namespace

ProductEnd::ProductEnd(const KernelRequest& request, const ProductPlaces& places, bool conv,
                       int64_t m, int64_t n)
    : places_(places),
      conv_(conv),
      m_(m),
      n_(RoundUp(n, kInt8Padding)),
      a_signed_(request.input(places.a).dtype == DType::kInt8),
      b_signed_(request.input(places.b).dtype == DType::kInt8),
      output_(OutputOf(request.outputs[0].dtype)),
      low_(static_cast<float>(request.node.Float("low", -HUGE_VAL))),
      high_(static_cast<float>(request.node.Float("high", HUGE_VAL))) {
  const auto count = [&](size_t place) {
    const OperandInfo& operand = request.input(place);
    return operand.present ? operand.elements() : 0;
  };
  counts_ = {.a_scale = count(places.a_scale),
             .a_zero = count(places.a_zero),
             .b_scale = count(places.b_scale),
             .b_zero = count(places.b_zero),
             .y_scale = count(places.y_scale),
             .y_zero = count(places.y_zero),
             .bias = count(places.bias),
             .offset = count(places.offset)};
}

size_t ProductEnd::scratch_bytes() const {
  const auto m = static_cast<size_t>(m_), n = static_cast<size_t>(n_);
  const size_t zeros =
      engine::AlignedInArena(m * sizeof(int32_t)) + engine::AlignedInArena(n * sizeof(int32_t));
  if (output_ == Int8Output::kInt32) return zeros;
  const bool rows = conv_ || counts_.a_scale > 1;
  return zeros + 2 * engine::AlignedInArena(std::max(rows ? m : 0, n) * sizeof(double));
}

// Takes memory from the front of the scratch, one parameter after the other.
class ProductEnd::Filler {
 public:
  Filler(const ProductEnd& end, const engine::Operands& p, void* scratch)
      : end_(end), p_(p), memory_(static_cast<std::byte*>(scratch)) {}

  Int8Epilogue Run() {
    epilogue_.output = end_.output_;
    const Counts& have = end_.counts_;
    const int32_t* a = Zeros(end_.places_.a_zero, have.a_zero, end_.a_signed_, !end_.conv_);
    const int32_t* b = Zeros(end_.places_.b_zero, have.b_zero, end_.b_signed_, end_.conv_);
    epilogue_.row_zero = end_.conv_ ? b : a;
    epilogue_.column_zero = end_.conv_ ? a : b;
    if (have.bias != 0) epilogue_.row_bias = p_.input<int32_t>(end_.places_.bias);
    if (end_.output_ == Int8Output::kFloat) FillFloat();
    if (end_.output_ == Int8Output::kInt8 || end_.output_ == Int8Output::kUint8) FillQuantized();
    return epilogue_;
  }

 private:
  template <typename T>
  T* Take(int64_t count) {
    std::byte* const taken = memory_;
    memory_ += engine::AlignedInArena(static_cast<size_t>(count) * sizeof(T));
    return reinterpret_cast<T*>(taken);
  }

  // The zero points of rows or columns as the kernels take them; null if all are 0.
  const int32_t* Zeros(size_t place, int64_t given, bool is_signed, bool rows) {
    const int64_t count = rows ? end_.m_ : end_.n_;
    int32_t* const zeros = Take<int32_t>(count);
    const void* const from = given != 0 ? p_.input(place) : nullptr;
    const auto at = [&](int64_t i) {
      const int32_t zero = given == 0 ? 0 : ZeroAt(from, is_signed, i);
      return rows ? ShiftedZeroOfA(zero, is_signed) : ShiftedZeroOfB(zero, is_signed);
    };
    if (given <= 1) {
      std::fill_n(zeros, count, at(0));
    } else {
      for (int64_t i = 0; i < count; ++i) zeros[i] = at(i % given);
    }
    const bool none = std::all_of(zeros, zeros + count, [](int32_t zero) { return zero == 0; });
    return none ? nullptr : zeros;
  }

  bool scales_are_of_rows() const { return end_.conv_ || end_.counts_.a_scale > 1; }

  // The product of the operands' scales, in T; 1 for those that are omitted.
  template <typename T>
  T* Scales(T divisor) {
    const Counts& have = end_.counts_;
    const int64_t count = scales_are_of_rows() ? end_.m_ : end_.n_;
    const float* const a = have.a_scale != 0 ? p_.input<float>(end_.places_.a_scale) : nullptr;
    const float* const b = have.b_scale != 0 ? p_.input<float>(end_.places_.b_scale) : nullptr;
    T* const scales = Take<T>(count);
    for (int64_t i = 0; i < count; ++i) {
      const T left = a != nullptr ? static_cast<T>(a[i % have.a_scale]) : 1;
      const T right = b != nullptr ? static_cast<T>(b[i % have.b_scale]) : 1;
      scales[i] = left * right / divisor;
    }
    return scales;
  }

  // The summands of rows or columns, divided.
  template <typename T>
  T* Offsets(T divisor) {
    const int64_t given = end_.counts_.offset, count = end_.conv_ ? end_.m_ : end_.n_;
    if (given == 0) return nullptr;
    const float* const from = p_.input<float>(end_.places_.offset);
    T* const offsets = Take<T>(count);
    for (int64_t i = 0; i < count; ++i) offsets[i] = static_cast<T>(from[i % given]) / divisor;
    return offsets;
  }

  void FillFloat() {
    (scales_are_of_rows() ? epilogue_.row_scale : epilogue_.column_scale) = Scales<float>(1);
    (end_.conv_ ? epilogue_.row_offset : epilogue_.column_offset) = Offsets<float>(1);
    epilogue_.least = end_.low_, epilogue_.most = end_.high_;
  }

  void FillQuantized() {
    const float scale = *p_.input<float>(end_.places_.y_scale);
    const double y = scale;
    (scales_are_of_rows() ? epilogue_.row_factor : epilogue_.column_factor) = Scales<double>(y);
    (end_.conv_ ? epilogue_.row_shift : epilogue_.column_shift) = Offsets<double>(y);
    const bool is_signed = end_.output_ == Int8Output::kInt8;
    if (end_.counts_.y_zero != 0) {
      epilogue_.zero = ZeroAt(p_.input(end_.places_.y_zero), is_signed, 0);
    }
    // What a bound becomes when it is quantized bounds what all numbers become.
    const double lowest = is_signed ? -128 : 0;
    const auto quantized = [&](float bound) {
      const double steps = std::nearbyint(bound / scale);
      return std::clamp(steps + epilogue_.zero, lowest, lowest + 255);
    };
    epilogue_.low = quantized(end_.low_), epilogue_.high = quantized(end_.high_);
  }

  const ProductEnd& end_;
  const engine::Operands& p_;
  std::byte* memory_;
  Int8Epilogue epilogue_;
};

Int8Epilogue ProductEnd::Fill(const engine::Operands& p, void* scratch) const {
  return Filler(*this, p, scratch).Run();
}

}  // namespace hr::cpu
