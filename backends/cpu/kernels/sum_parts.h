// How long a chain of multiply-adds may be. Each step of one is rounded to the digits of what was
// added so far, so the error of a sum of numbers of one sign grows with the square root of their
// number; what is summed in parts, which are then added up, has the errors of one part and of a sum
// of few numbers.
#pragma once

#include <cstdint>

namespace hr::cpu {

inline constexpr int64_t kMostTermsOfPart = 256;

// Returns how many of the terms that are left the next part of a sum has: the last two are alike.
inline int64_t TermsOfPart(int64_t left) {
  if (left <= kMostTermsOfPart) return left;
  return left < 2 * kMostTermsOfPart ? (left / 2 + 1) / 2 * 2 : kMostTermsOfPart;
}

}  // namespace hr::cpu
