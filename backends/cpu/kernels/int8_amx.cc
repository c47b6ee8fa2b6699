#include "backends/cpu/kernels/int8_amx.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#define HR_AMX __attribute__((target("amx-tile,amx-int8")))

namespace hr::cpu {
namespace {

constexpr int kTileRows = 16;   // of a register
constexpr int kTileBytes = 64;  // of a row of a register: 16 sums, or 64 numbers of A
constexpr int kWidth = 32;      // columns of a panel: two registers
constexpr int64_t kPanelStride = kWidth * kQuad;
constexpr int64_t kSumsStride = kWidth * sizeof(int32_t);
// Fewer rows are multiplied sooner by vectors.
constexpr int kFewestRows = 8;

bool AskForRegisters() {
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;     // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

// What ldtilecfg reads: the shapes of the registers, by number. Sums are 0 to 3 (two rows of two),
// A is 4 and 5, B 6 and 7.
struct alignas(64) Shapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  Shapes(int upper, int lower, int64_t quads) {
    for (int of_b : {6, 7}) Set(of_b, static_cast<int>(quads), kTileBytes);
    for (int sums : {0, 1}) Set(sums, upper, kTileBytes);
    Set(4, upper, static_cast<int>(quads * kQuad));
    if (lower == 0) return;
    for (int sums : {2, 3}) Set(sums, lower, kTileBytes);
    Set(5, lower, static_cast<int>(quads * kQuad));
  }
  void Set(int number, int count, int bytes) {
    rows[number] = static_cast<uint8_t>(count);
    row_bytes[number] = static_cast<uint16_t>(bytes);
  }
};

// Instructions name their registers, so that each number is written out.
#define HR_ADD_PRODUCTS(sums, a, b) \
  if constexpr (kSigned) {          \
    _tile_dpbssd(sums, a, b);       \
  } else {                          \
    _tile_dpbusd(sums, a, b);       \
  }

template <bool kSigned, bool kTwo>
HR_AMX void AddSteps(const uint8_t* a, int64_t lda, const int8_t* b, int64_t steps) {
  for (; steps > 0; --steps, a += kTileBytes, b += kTileRows * kPanelStride) {
    _tile_loadd(6, b, kPanelStride);
    _tile_loadd(4, a, lda);
    HR_ADD_PRODUCTS(0, 4, 6)
    _tile_loadd(7, b + kTileBytes, kPanelStride);
    HR_ADD_PRODUCTS(1, 4, 7)
    if constexpr (kTwo) {
      _tile_loadd(5, a + kTileRows * lda, lda);
      HR_ADD_PRODUCTS(2, 5, 6)
      HR_ADD_PRODUCTS(3, 5, 7)
    }
  }
}

template <bool kTwo>
HR_AMX void LoadSums(const int32_t* tile) {
  _tile_loadd(0, tile, kSumsStride);
  _tile_loadd(1, tile + kTileRows, kSumsStride);
  if constexpr (kTwo) {
    _tile_loadd(2, tile + kTileRows * kWidth, kSumsStride);
    _tile_loadd(3, tile + kTileRows * kWidth + kTileRows, kSumsStride);
  }
}

template <bool kTwo>
HR_AMX void StoreSums(int32_t* tile) {
  _tile_stored(0, tile, kSumsStride);
  _tile_stored(1, tile + kTileRows, kSumsStride);
  if constexpr (kTwo) {
    _tile_stored(2, tile + kTileRows * kWidth, kSumsStride);
    _tile_stored(3, tile + kTileRows * kWidth + kTileRows, kSumsStride);
  }
}

// What the sums begin with. The unit takes A's signed numbers as they are, but callers expect sums
// of encoded ones, which are larger by 128: 128 times the sum of each column is missing.
template <bool kSigned>
void SetSums(const Int8TileCall& call) {
  if constexpr (!kSigned) {
    std::memset(call.tile, 0, static_cast<size_t>(call.rows * kSumsStride));
  } else {
    const auto* columns = reinterpret_cast<const int32_t*>(call.panel) - kWidth;
    for (int i = 0; i < call.rows; ++i) {
      for (int j = 0; j < kWidth; ++j) {
        call.tile[i * kWidth + j] = static_cast<int32_t>(static_cast<uint32_t>(columns[j]) * 128);
      }
    }
  }
}

template <bool kSigned, bool kTwo>
HR_AMX void AddToTile(const Int8TileCall& call, int64_t quads, const uint8_t* a, int64_t lda,
                      const int8_t* b, int64_t steps) {
  const int lower = kTwo ? call.rows - kTileRows : 0;
  const Shapes shapes(call.rows - lower, lower, quads);
  _tile_loadconfig(&shapes);
  LoadSums<kTwo>(call.tile);
  AddSteps<kSigned, kTwo>(a, lda, b, steps);
  StoreSums<kTwo>(call.tile);
  _tile_release();
}

// Adds the terms that are fewer than a register's row has. A copy has them in whole quads, so that
// nothing behind A is read.
template <bool kSigned, bool kTwo>
void AddRest(const Int8TileCall& call) {
  const int64_t rest = call.k % kTileBytes, quads = (rest + kQuad - 1) / kQuad;
  alignas(64) uint8_t a[2 * kTileRows * kTileBytes];
  for (int i = 0; i < call.rows; ++i) {
    uint8_t* const row = a + i * kTileBytes;
    std::memset(row + (quads - 1) * kQuad, 0, kQuad);
    std::memcpy(row, call.a + i * call.lda + call.k - rest, static_cast<size_t>(rest));
  }
  const int8_t* const b = call.panel + call.k / kTileBytes * kTileRows * kPanelStride;
  AddToTile<kSigned, kTwo>(call, quads, a, kTileBytes, b, 1);
}

template <bool kSigned, bool kTwo>
void Tile(const Int8TileCall& call) {
  const int64_t steps = call.k / kTileBytes;
  SetSums<kSigned>(call);
  if (steps > 0) AddToTile<kSigned, kTwo>(call, kTileRows, call.a, call.lda, call.panel, steps);
  if (call.k % kTileBytes != 0) AddRest<kSigned, kTwo>(call);
}

}  // namespace

bool HasInt8Amx() {
  static const bool has =
      __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") && AskForRegisters();
  return has;
}

Int8Kernels WithAmxTiles(const Int8Kernels& vectors) {
  Int8Kernels kernels = vectors;
  kernels.rows = 2 * kTileRows;
  for (int rows = kFewestRows; rows <= kernels.rows; ++rows) {
    const bool two = rows > kTileRows;
    kernels.tile[0][rows - 1] = two ? Tile<false, true> : Tile<false, false>;
    kernels.tile[1][rows - 1] = two ? Tile<true, true> : Tile<true, false>;
  }
  return kernels;
}

}  // namespace hr::cpu

#else

namespace hr::cpu {

bool HasInt8Amx() { return false; }
Int8Kernels WithAmxTiles(const Int8Kernels& vectors) { return vectors; }

}  // namespace hr::cpu

#endif
