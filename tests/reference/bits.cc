// The bits of integers, and elements read as those of another type.
#include <cstring>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// Two's complement in 64 bits; what is above the type's own bits is cut off by Fit.
uint64_t BitsOf(Number value) {
  return value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                   : static_cast<uint64_t>(value);
}

// The number of `dtype` that has the low bits of `bits`.
Number FromBits(DType dtype, uint64_t bits) {
  Tensor tensor = ToTensor(Array(dtype, {}));
  std::memcpy(tensor.data(), &bits, DTypeSize(dtype));
  return FromTensor(tensor).data[0];
}

using BitFunction = uint64_t (*)(uint64_t, uint64_t);

void Combine(Call& call, BitFunction f) {
  const Array &a = call.In(0), &b = call.In(1);
  Array out(a.dtype, BroadcastDims(a.dims, b.dims).value());
  ForEach(out.dims, [&](const Dims& i) {
    out[i] = FromBits(a.dtype, f(BitsOf(a.Broadcast(i)), BitsOf(b.Broadcast(i))));
  });
  call.Out(0, std::move(out));
}

void And(Call& call) {
  Combine(call, [](uint64_t a, uint64_t b) { return a & b; });
}
void Or(Call& call) {
  Combine(call, [](uint64_t a, uint64_t b) { return a | b; });
}
void Xor(Call& call) {
  Combine(call, [](uint64_t a, uint64_t b) { return a ^ b; });
}
void BitwiseNot(Call& call) {
  Array out = call.In(0);
  for (Number& x : out.data) x = FromBits(out.dtype, ~BitsOf(x));
  call.Out(0, std::move(out));
}

// One place after the other.
void Shift(Call& call) {
  const bool left = call.String("direction", "") == "LEFT";
  Combine(call, left ? [](uint64_t a, uint64_t b) -> uint64_t {
    for (uint64_t i = 0; i < b && a != 0; ++i) a *= 2;
    return a;
  } : [](uint64_t a, uint64_t b) -> uint64_t {
    for (uint64_t i = 0; i < b && a != 0; ++i) a /= 2;
    return a;
  });
}

void BitCast(Call& call) {
  const Tensor from = ToTensor(call.In(0));
  const Tensor to = ToTensor(Array(static_cast<DType>(call.Int("to", 0)), call.In(0).dims));
  std::memcpy(to.data(), from.data(), to.bytes());
  call.Out(0, FromTensor(to));
}

const Entry kBitsEntries[] = {
    {"", "BitwiseAnd", And},        {"", "BitwiseOr", Or},   {"", "BitwiseXor", Xor},
    {"", "BitwiseNot", BitwiseNot}, {"", "BitShift", Shift}, {"", "BitCast", BitCast},
};

}  // namespace

std::span<const Entry> BitFunctions() { return kBitsEntries; }

}  // namespace hr::reference
