// Philox for scalars; see philox.inc.
#pragma once

#include "runtime/ops/functors/functors.h"

namespace hr::functors {

template <typename U>
HR_FUNCTOR U SplatWord(uint32_t word) {
  return word;
}
template <typename V>
HR_FUNCTOR V WordToFloat(uint32_t word) {
  return static_cast<V>(word);
}
HR_FUNCTOR uint32_t MulHighLow(uint32_t a, uint32_t b, uint32_t* high) {
  const uint64_t product = static_cast<uint64_t>(a) * b;
  *high = static_cast<uint32_t>(product >> 32);
  return static_cast<uint32_t>(product);
}

#include "runtime/ops/functors/philox.inc"

}  // namespace hr::functors
