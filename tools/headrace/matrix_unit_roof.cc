#include "tools/headrace/matrix_unit_roof.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <random>

namespace headrace::tool {
namespace {

// What ldtilecfg reads: eight registers of 16 rows of 64 bytes.
struct alignas(64) Shapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

bool HasMatrixUnit() {
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;     // XFEATURE_XTILEDATA
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
         syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

__attribute__((target("amx-tile,amx-bf16"))) void MultiplyOnMatrixUnit(long rounds) {
  alignas(64) uint16_t numbers[16 * 32];
  std::minstd_rand draw;
  for (uint16_t& number : numbers) {  // of 1 to 2, with either sign
    number = static_cast<uint16_t>(0x3f80 | (draw() >> 8 & 0x807f));
  }
  const Shapes shapes;
  asm volatile("" : : "r"(&shapes), "r"(numbers) : "memory");
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, numbers, 64);
  _tile_loadd(5, numbers, 64);
  _tile_loadd(6, numbers, 64);
  _tile_loadd(7, numbers, 64);
  for (long i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

}  // namespace headrace::tool

#else

namespace headrace::tool {

bool HasMatrixUnit() { return false; }
void MultiplyOnMatrixUnit(long) {}

}  // namespace headrace::tool

#endif
