// Numbers as people write them, read quickly and rounded as the nearest number of the type.
#pragma once

#include <cstdint>

namespace hr::data {

// Reads a decimal number ("-1.5", "+2", ".5e-3") that begins at `begin`, of which `end` bounds the
// memory. Returns where it ends; null if there is none, or one that needs FloatOf: with more than
// 19 digits, a large exponent, or a word such as "nan".
const char* QuickFloat(const char* begin, const char* end, char point, float* value);
const char* QuickFloat(const char* begin, const char* end, char point, double* value);

// The whole of [begin, end), of any length, with "nan", "inf" and "infinity" in any case. Returns
// false if it is no number. Overflow gives an infinity, underflow 0.
bool FloatOf(const char* begin, const char* end, char point, float* value);
bool FloatOf(const char* begin, const char* end, char point, double* value);

}  // namespace hr::data
