// How an update meets the element it is placed on.
#pragma once

#include <type_traits>

#include "backends/cpu/kernels/indexing.h"

namespace hr::cpu {

// Integers wrap around; NaN goes through all.
template <typename T>
T Scattered(Scatter scatter, T old, T update) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  switch (scatter) {
    case Scatter::kAdd:
      return static_cast<T>(static_cast<Wrapping>(old) + static_cast<Wrapping>(update));
    case Scatter::kMul:
      return static_cast<T>(static_cast<Wrapping>(old) * static_cast<Wrapping>(update));
    case Scatter::kMax: return update > old || update != update ? update : old;
    case Scatter::kMin: return update < old || update != update ? update : old;
    case Scatter::kReplace: break;
  }
  return update;
}

// Calls body(meet) with meet(old, update) for this kind alone, so that loops are not asked again
// and again.
template <typename T, typename Body>
void ForScatter(Scatter scatter, const Body& body) {
  switch (scatter) {
    case Scatter::kReplace: return body([](T, T u) { return u; });
    case Scatter::kAdd: return body([](T o, T u) { return Scattered(Scatter::kAdd, o, u); });
    case Scatter::kMul: return body([](T o, T u) { return Scattered(Scatter::kMul, o, u); });
    case Scatter::kMax: return body([](T o, T u) { return Scattered(Scatter::kMax, o, u); });
    case Scatter::kMin: return body([](T o, T u) { return Scattered(Scatter::kMin, o, u); });
  }
}

}  // namespace hr::cpu
