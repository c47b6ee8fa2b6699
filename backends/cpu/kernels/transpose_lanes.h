// For kernels that are written with AVX-512 itself, not with Highway.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace hr::cpu {

// Transposes 16 x 16 lanes: first within blocks of 4 x 4, then the blocks.
__attribute__((target("avx512f"), always_inline)) inline void TransposeLanes(__m512i (&rows)[16]) {
  __m512i pairs[16], quads[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    pairs[i + 2] = _mm512_unpacklo_epi32(rows[i + 2], rows[i + 3]);
    pairs[i + 3] = _mm512_unpackhi_epi32(rows[i + 2], rows[i + 3]);
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  // quads[i + c] has, in its block b, column 4 b + c of rows i to i + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even0 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0x88);
    const __m512i odd0 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0xdd);
    const __m512i even1 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0x88);
    const __m512i odd1 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_i32x4(even0, even1, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(even0, even1, 0xdd);
    rows[4 + c] = _mm512_shuffle_i32x4(odd0, odd1, 0x88);
    rows[12 + c] = _mm512_shuffle_i32x4(odd0, odd1, 0xdd);
  }
}

// The same of rows in memory, so many bytes apart; they may be transposed in place.
__attribute__((target("avx512f"), always_inline)) inline void TransposeLanes(const void* from,
                                                                             int64_t stride,
                                                                             void* to,
                                                                             int64_t distance) {
  __m512i rows[16];
#pragma GCC unroll 16
  for (int64_t i = 0; i < 16; ++i) {
    rows[i] = _mm512_loadu_si512(static_cast<const char*>(from) + i * stride);
  }
  TransposeLanes(rows);
#pragma GCC unroll 16
  for (int64_t i = 0; i < 16; ++i) {
    _mm512_storeu_si512(static_cast<char*>(to) + i * distance, rows[i]);
  }
}

}  // namespace hr::cpu
