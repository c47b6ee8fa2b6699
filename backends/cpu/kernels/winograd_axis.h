// Winograd's matrices for one axis of a tile: Y = A^T ((G g) . (B^T d)) gives tile + 1 - taps
// outputs of a filter g from the pixels d of a tile (Lavin and Gray, arXiv:1509.09308). They follow
// from the points of Toom and Cook's interpolation: 0, pairs p and -p, and infinity.
//
// The points decide how much rounding errors grow. Of 4 pixels nothing but 1 is needed; in 8 pixels
// the usual pairs 1, 2 and 1/2 are the best; in 6, 5/8 and 3/2 make less than half of the error of
// 1 and 2. Sums of the squared entries of A, B and G tell (Barabasz et al., arXiv:1803.10986):
// errors are 4.8 times those of sums of as many products in 6 x 6 tiles, and 19 to 25 times in 8 x
// 8 tiles.
#pragma once

#include <array>
#include <cstdint>

namespace hr::cpu {

inline constexpr int kWinogradMaxTile = 8;
inline constexpr int kWinogradMinKernel = 3, kWinogradMaxKernel = 7;

struct WinogradAxis {
  int tile, pairs;
  std::array<double, kWinogradMaxTile / 2 - 1> points;  // of each pair, the positive one
  // B^T[frequency][pixel]. Frequencies are those of 0, of p and -p for each pair, and of infinity.
  float input[kWinogradMaxTile][kWinogradMaxTile];
  float powers[kWinogradMaxTile][kWinogradMaxKernel];  // of the point; not for infinity
  float scales[kWinogradMaxTile];                      // of the rows of G

  // The pixels that a frequency takes: every `step`-th of them.
  struct Span {
    int begin, end, step;
  };
  constexpr Span Pixels(int frequency) const {
    if (frequency == 0) return {0, tile, 2};
    if (frequency == tile - 1) return {1, tile, 2};
    return {1, tile - 1, 1};
  }
  constexpr int64_t Outputs(int64_t taps) const { return tile + 1 - taps; }
  // A[frequency][output] of a tile with `outputs` outputs.
  constexpr float Output(int frequency, int64_t output, int64_t outputs) const {
    if (frequency == tile - 1) return output == outputs - 1 ? 1.0F : 0.0F;
    return powers[frequency][output];
  }
  // G[frequency][tap].
  constexpr float Filter(int frequency, int64_t tap, int64_t taps) const {
    return scales[frequency] * Output(frequency, tap, taps);
  }
};

// Coefficients, by powers of z, of the product of z - p^2 over all pairs but one (or -1: none).
constexpr std::array<double, kWinogradMaxTile / 2> WinogradPolynomial(const WinogradAxis& axis,
                                                                      int but) {
  std::array<double, kWinogradMaxTile / 2> out{1};
  for (int pair = 0; pair < axis.pairs; ++pair) {
    if (pair == but) continue;
    const double square = axis.points[pair] * axis.points[pair];
    for (int i = axis.pairs; i > 0; --i) out[i] = out[i - 1] - square * out[i];
    out[0] *= -square;
  }
  return out;
}

constexpr WinogradAxis MakeWinogradAxis(int pairs, std::array<double, 3> points) {
  WinogradAxis axis{.tile = 2 * pairs + 2, .pairs = pairs, .points = points};
  const auto all = WinogradPolynomial(axis, -1);
  for (int i = 0; i <= pairs; ++i) {
    axis.input[0][2 * i] = axis.input[axis.tile - 1][2 * i + 1] = static_cast<float>(all[i]);
  }
  axis.powers[0][0] = 1;
  axis.scales[0] = static_cast<float>(1 / all[0]);
  axis.scales[axis.tile - 1] = 1;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto others = WinogradPolynomial(axis, pair);
    const double square = points[pair] * points[pair];
    double at_square = 0;  // the polynomial's value there
    for (int i = pairs; i-- > 0;) at_square = at_square * square + others[i];
    for (int sign : {1, -1}) {
      const int row = 2 * pair + (sign == 1 ? 1 : 2);
      const double point = sign * points[pair];
      for (int i = 0; i < pairs; ++i) {
        axis.input[row][2 * i + 1] = static_cast<float>(point * others[i]);
        axis.input[row][2 * i + 2] = static_cast<float>(others[i]);
      }
      double power = 1;
      for (float& to : axis.powers[row]) to = static_cast<float>(power), power *= point;
      axis.scales[row] = static_cast<float>(1 / (2 * square * at_square));
    }
  }
  return axis;
}

inline constexpr WinogradAxis kWinogradFour = MakeWinogradAxis(1, {1});
inline constexpr WinogradAxis kWinogradSix = MakeWinogradAxis(2, {0.625, 1.5});
inline constexpr WinogradAxis kWinogradEight = MakeWinogradAxis(3, {1, 2, 0.5});

// Small tiles make 2 outputs of 3 taps: they multiply more, but have 16 frequencies of each 3 x 3
// filter instead of 36.
enum class WinogradTiling : uint8_t { kLarge, kSmall };
inline constexpr int kWinogradSmallKernel = 3;  // the only one that has small tiles

// The axis for kernels of so many taps: among the large ones the 8 pixels only where direct sums
// have large errors, too, being long.
constexpr const WinogradAxis& WinogradAxisFor(int64_t taps,
                                              WinogradTiling tiling = WinogradTiling::kLarge) {
  if (tiling == WinogradTiling::kSmall) return kWinogradFour;
  return taps <= 4 ? kWinogradSix : kWinogradEight;
}

}  // namespace hr::cpu
