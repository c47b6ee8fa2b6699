#include "backends/cpu/kernels/matrix_unit.h"

#include "backends/cpu/instruction_set.h"

#if defined(__x86_64__) && defined(__linux__)

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <span>

#include "backends/cpu/kernels/matrix_registers.h"

#define HR_AMX __attribute__((target("amx-tile,amx-int8,amx-bf16")))

namespace hr::cpu {
namespace {

constexpr int kWidth = 32;    // columns of a panel: two registers
constexpr int64_t kLane = 4;  // bytes of a quad or a pair, and of a sum
constexpr int64_t kPanelStride = kWidth * kLane;
constexpr int64_t kSumsStride = kWidth * kLane;
// Fewer rows are multiplied sooner by vectors.
constexpr int kFewestRows = 8;

std::atomic<bool>& IsAllowed() {
  static std::atomic<bool> allowed = true;
  return allowed;
}

bool AskForRegisters() {
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;     // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

enum class Numbers : uint8_t { kUint8, kInt8, kBfloat16 };

// Instructions name their registers, so that each number is written out.
#define HR_ADD_PRODUCTS(sums, a, b)                   \
  if constexpr (kNumbers == Numbers::kInt8) {         \
    _tile_dpbssd(sums, a, b);                         \
  } else if constexpr (kNumbers == Numbers::kUint8) { \
    _tile_dpbusd(sums, a, b);                         \
  } else {                                            \
    _tile_dpbf16ps(sums, a, b);                       \
  }

// Sums are stored on the way as split_kernels.cc does it.
constexpr int64_t kStepsUntilStore = 24;

template <Numbers kNumbers, bool kTwo>
HR_AMX void AddSteps(const char* a, int64_t lda, const char* b, int64_t steps, void* sums) {
  for (int64_t step = 1; step <= steps; ++step) {
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
    if (step % kStepsUntilStore == 0) _tile_stored(0, sums, kSumsStride);
    a += kTileBytes, b += kTileRows * kPanelStride;
  }
}

template <bool kTwo>
HR_AMX void LoadSums(const void* sums) {
  const auto* const tile = static_cast<const int32_t*>(sums);
  _tile_loadd(0, tile, kSumsStride);
  _tile_loadd(1, tile + kTileRows, kSumsStride);
  if constexpr (kTwo) {
    _tile_loadd(2, tile + kTileRows * kWidth, kSumsStride);
    _tile_loadd(3, tile + kTileRows * kWidth + kTileRows, kSumsStride);
  }
}

// A tile's operands by their bytes, whatever they are. The distances of spans are in numbers.
struct Bytes {
  explicit Bytes(const Int8TileCall& call) : Bytes(call, 1, kOneSpan) {}
  explicit Bytes(const Bfloat16TileCall& call) : Bytes(call, 2, call.spans) {}

  template <typename Call>
  Bytes(const Call& call, int64_t number, std::span<const int64_t> given)
      : rows(call.rows),
        k(call.k * number),
        a(reinterpret_cast<const char*>(call.a)),
        lda(call.lda * number),
        panel(reinterpret_cast<const char*>(call.panel)),
        tile(call.tile),
        bytes(number),
        spans(given) {}

  int64_t PanelOfSpan() const { return (k + kLane - 1) / kLane * kPanelStride; }

  int rows;
  int64_t k;
  const char* a;
  int64_t lda;
  const char* panel;
  void* tile;
  int64_t bytes;  // of a number
  std::span<const int64_t> spans;
};

// What sums of signed bytes begin with. The unit takes A's as they are, but callers expect sums of
// encoded ones, which are larger by 128: 128 times the sum of each column is missing.
void SetSums(const Bytes& call) {
  const auto* columns = reinterpret_cast<const int32_t*>(call.panel) - kWidth;
  auto* const tile = static_cast<int32_t*>(call.tile);
  for (int i = 0; i < call.rows; ++i) {
    for (int j = 0; j < kWidth; ++j) {
      tile[i * kWidth + j] = static_cast<int32_t>(static_cast<uint32_t>(columns[j]) * 128);
    }
  }
}

// What is multiplied of each span: `steps` times a register's row of A, with the lanes that it has.
struct Terms {
  const char* a;
  int64_t lda;
  const char* b;
  int64_t steps;
  int64_t lanes = kTileRows;
};

// `add`: to what the tile has.
template <Numbers kNumbers, bool kTwo>
HR_AMX void AddToTile(const Bytes& call, const Terms& terms, bool add) {
  const int lower = kTwo ? call.rows - kTileRows : 0;
  UnitShapes(call.rows - lower, lower, terms.lanes).Load();
  if (add) {
    LoadSums<kTwo>(call.tile);
  } else {
    ZeroSums<kTwo>();
  }
  const char* b = terms.b;
  for (const int64_t span : call.spans) {
    AddSteps<kNumbers, kTwo>(terms.a + span * call.bytes, terms.lda, b, terms.steps, call.tile);
    b += call.PanelOfSpan();
  }
  StoreSums<kTwo>(call.tile, kSumsStride);
}

// Adds the terms that are fewer than a register's row has. If they are no whole quads or pairs, a
// copy has them, so that nothing behind A is read; there is one span then.
template <Numbers kNumbers, bool kTwo>
void AddRest(const Bytes& call, bool add) {
  const int64_t rest = call.k % kTileBytes, lanes = (rest + kLane - 1) / kLane;
  const char* const b = call.panel + call.k / kTileBytes * kTileRows * kPanelStride;
  if (rest % kLane == 0) {
    return AddToTile<kNumbers, kTwo>(call, {call.a + call.k - rest, call.lda, b, 1, lanes}, add);
  }
  alignas(64) char a[2 * kTileRows * kTileBytes];
  for (int i = 0; i < call.rows; ++i) {
    char* const row = a + i * kTileBytes;
    std::memset(row + (lanes - 1) * kLane, 0, kLane);
    std::memcpy(row, call.a + i * call.lda + call.k - rest, static_cast<size_t>(rest));
  }
  AddToTile<kNumbers, kTwo>(call, {a, kTileBytes, b, 1, lanes}, add);
}

template <Numbers kNumbers, bool kTwo, typename Call>
void Tile(const Call& typed) {
  const Bytes call(typed);
  const int64_t steps = call.k / kTileBytes, rest = call.k % kTileBytes;
  constexpr bool kBegun = kNumbers == Numbers::kInt8;
  if constexpr (kBegun) SetSums(call);
  if (steps > 0 || rest == 0) {
    AddToTile<kNumbers, kTwo>(call, {call.a, call.lda, call.panel, steps}, kBegun);
  }
  if (rest != 0) AddRest<kNumbers, kTwo>(call, kBegun || steps > 0);
}

HR_AMX void Release() { _tile_release(); }

template <Numbers kNumbers, typename Call>
void SetTiles(void (**tiles)(const Call&)) {
  for (int rows = kFewestRows; rows <= 2 * kTileRows; ++rows) {
    tiles[rows - 1] = rows > kTileRows ? Tile<kNumbers, true, Call> : Tile<kNumbers, false, Call>;
  }
}

}  // namespace

bool HasInt8Unit() {
  static const bool has = IsAllowed() && __builtin_cpu_supports("amx-tile") &&
                          __builtin_cpu_supports("amx-int8") && AskForRegisters();
  return has;
}

bool HasBfloat16Unit() {
  static const bool has = IsAllowed() && __builtin_cpu_supports("amx-tile") &&
                          __builtin_cpu_supports("amx-bf16") && AskForRegisters();
  return has;
}

void DisableMatrixUnit() { IsAllowed() = false; }

Int8Kernels WithUnitTiles(const Int8Kernels& vectors) {
  Int8Kernels kernels = vectors;
  kernels.rows = 2 * kTileRows;
  SetTiles<Numbers::kUint8>(kernels.tile[0]);
  SetTiles<Numbers::kInt8>(kernels.tile[1]);
  kernels.release = Release;
  return kernels;
}

Bfloat16Kernels WithUnitTiles(const Bfloat16Kernels& vectors) {
  Bfloat16Kernels kernels = vectors;
  kernels.rows = 2 * kTileRows;
  SetTiles<Numbers::kBfloat16>(kernels.tile);
  kernels.release = Release;
  return kernels;
}

}  // namespace hr::cpu

#else

namespace hr::cpu {

bool HasInt8Unit() { return false; }
bool HasBfloat16Unit() { return false; }
void DisableMatrixUnit() {}
Int8Kernels WithUnitTiles(const Int8Kernels& vectors) { return vectors; }
Bfloat16Kernels WithUnitTiles(const Bfloat16Kernels& vectors) { return vectors; }

}  // namespace hr::cpu

#endif
