// The registers of the matrix unit of x86-64 processors, as its kernels use them: sums are 0 to 3
// (two rows of two), A is 4 and 5, B 6 and 7. Each has up to 16 rows of 64 bytes.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace hr::cpu {

inline constexpr int kTileRows = 16;
inline constexpr int kTileBytes = 64;  // of a row

// What ldtilecfg reads: the registers' shapes, by number.
struct alignas(64) UnitShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  // A and sums with so many rows above and below; A's rows have `lanes` lanes of 4 bytes, of which
  // each meets a row of B.
  UnitShapes(int upper, int lower, int64_t lanes) {
    const auto row_of_a = static_cast<int>(lanes * 4);
    for (int of_b : {6, 7}) Set(of_b, static_cast<int>(lanes), kTileBytes);
    for (int sums : {0, 1}) Set(sums, upper, kTileBytes);
    Set(4, upper, row_of_a);
    if (lower == 0) return;
    for (int sums : {2, 3}) Set(sums, lower, kTileBytes);
    Set(5, lower, row_of_a);
  }
  void Set(int number, int count, int bytes) {
    rows[number] = static_cast<uint8_t>(count);
    row_bytes[number] = static_cast<uint16_t>(bytes);
  }

  // To load shapes takes 70 ns, to see that they are there 6.
  __attribute__((target("amx-tile"))) void Load() const {
    alignas(64) char now[sizeof(UnitShapes)];
    _tile_storeconfig(now);
    // The intrinsics of GCC 12 say that eight bytes are written or read.
    asm volatile("" : : "r"(this), "r"(now) : "memory");
    if (std::memcmp(now, this, sizeof(now)) != 0) _tile_loadconfig(this);
  }
};

// Sums of one or two rows of registers; `row_bytes` is the distance of the rows of their tile.
template <bool kTwo>
__attribute__((target("amx-tile"))) inline void ZeroSums() {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTwo) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

template <bool kTwo>
__attribute__((target("amx-tile"))) inline void StoreSums(void* sums, int64_t row_bytes) {
  char* const tile = static_cast<char*>(sums);
  _tile_stored(0, tile, row_bytes);
  _tile_stored(1, tile + kTileBytes, row_bytes);
  if constexpr (kTwo) {
    _tile_stored(2, tile + kTileRows * row_bytes, row_bytes);
    _tile_stored(3, tile + kTileRows * row_bytes + kTileBytes, row_bytes);
  }
}

}  // namespace hr::cpu
