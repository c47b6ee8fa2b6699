// Loops over integers. Sums, products and shifts wrap around as on two's complement machines; what
// C++ leaves undefined (division by 0, the quotient of the smallest number and -1) is defined here.
#include <type_traits>

#include "backends/cpu/kernels/element_loops.h"

namespace hr::cpu {
namespace {

template <typename T>
using Word = std::make_unsigned_t<T>;

// clang-format off
template <typename T> T Identity(T x) { return x; }
template <typename T> T Neg(T x) { return static_cast<T>(Word<T>{0} - static_cast<Word<T>>(x)); }
template <typename T> T Abs(T x) { return x < 0 ? Neg(x) : x; }
template <typename T> T Sign(T x) { return static_cast<T>((x > 0) - (x < 0)); }
template <typename T> T Relu(T x) { return x < 0 ? 0 : x; }
template <typename T> T Not(T x) { return x == 0; }
template <typename T> T BitwiseNot(T x) { return ~x; }
template <typename T> T Add(T a, T b) {
  return static_cast<T>(static_cast<Word<T>>(a) + static_cast<Word<T>>(b));
}
template <typename T> T Sub(T a, T b) {
  return static_cast<T>(static_cast<Word<T>>(a) - static_cast<Word<T>>(b));
}
template <typename T> T Mul(T a, T b) {
  return static_cast<T>(static_cast<Word<T>>(a) * static_cast<Word<T>>(b));
}
template <typename T> T Square(T x) { return Mul(x, x); }
template <typename T> T Min(T a, T b) { return b < a ? b : a; }
template <typename T> T Max(T a, T b) { return b > a ? b : a; }
template <typename T> T Clip(T x, T low, T high) { return Min(Max(x, low), high); }
template <typename T> T Where(T condition, T yes, T no) { return condition ? yes : no; }
template <typename T> T Equal(T a, T b) { return a == b; }
template <typename T> T Less(T a, T b) { return a < b; }
template <typename T> T LessOrEqual(T a, T b) { return a <= b; }
template <typename T> T Greater(T a, T b) { return a > b; }
template <typename T> T GreaterOrEqual(T a, T b) { return a >= b; }
template <typename T> T And(T a, T b) { return a && b; }
template <typename T> T Or(T a, T b) { return a || b; }
template <typename T> T Xor(T a, T b) { return !a != !b; }
template <typename T> T BitwiseAnd(T a, T b) { return a & b; }
template <typename T> T BitwiseOr(T a, T b) { return a | b; }
template <typename T> T BitwiseXor(T a, T b) { return a ^ b; }
// clang-format on

template <typename T>
bool IsMinusOne(T x) {
  return std::is_signed_v<T> && x == static_cast<T>(-1);
}

template <typename T>
T Div(T a, T b) {
  if (b == 0) return 0;
  return IsMinusOne(b) ? Neg(a) : a / b;
}

template <typename T>
T Fmod(T a, T b) {
  return b == 0 || IsMinusOne(b) ? 0 : a % b;
}

template <typename T>
T Mod(T a, T b) {
  const T rest = Fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename T>
T Pow(T base, T exponent) {
  if (exponent < 0) {
    if (IsMinusOne(base)) return exponent % 2 == 0 ? 1 : base;
    return base == 1;
  }
  T power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power = Mul(power, base);
    base = Mul(base, base);
  }
  return power;
}

template <typename T>
constexpr Word<T> kBits = 8 * sizeof(T);

template <typename T>
T ShiftLeft(T x, T count) {
  const auto by = static_cast<Word<T>>(count);
  return by < kBits<T> ? static_cast<T>(static_cast<Word<T>>(x) << by) : 0;
}

template <typename T>
T ShiftRight(T x, T count) {
  const auto by = static_cast<Word<T>>(count);
  return by < kBits<T> ? static_cast<T>(static_cast<Word<T>>(x) >> by) : 0;
}

template <typename T, int kInputs, auto function>
void Loop(const void* const* in, void* out, int64_t count) {
  const T* x[kInputs];
  for (int i = 0; i < kInputs; ++i) x[i] = static_cast<const T*>(in[i]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kInputs == 1) y[i] = function(x[0][i]);
    if constexpr (kInputs == 2) y[i] = function(x[0][i], x[1][i]);
    if constexpr (kInputs == 3) y[i] = function(x[0][i], x[1][i], x[2][i]);
  }
}

template <typename T>
constexpr ElementLoops MakeLoops() {
  ElementLoops loops{};
#define HR_FLOAT(name, operands)
#define HR_ANY(name, operands) HR_INTEGER(name, operands)
#define HR_INTEGER(name, operands) \
  loops.loop[static_cast<int>(ElementOp::k##name)] = Loop<T, operands, &name<T>>;
#define HR_ROW(name, types, operands, ...) HR_##types(name, operands)
  HR_ELEMENT_OPS(HR_ROW)
#undef HR_ROW
#undef HR_INTEGER
#undef HR_ANY
#undef HR_FLOAT
  return loops;
}

}  // namespace

const ElementLoops& IntegerLoops(ElementType type) {
  static constexpr ElementLoops kNarrow = MakeLoops<int32_t>();
  static constexpr ElementLoops kSigned = MakeLoops<int64_t>();
  static constexpr ElementLoops kUnsigned = MakeLoops<uint64_t>();
  if (type == ElementType::kInt32) return kNarrow;
  return type == ElementType::kInt64 ? kSigned : kUnsigned;
}

}  // namespace hr::cpu
