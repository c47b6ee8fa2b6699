// Which of its tiles Winograd's algorithm uses for channels-last images, whether it keeps weights,
// and whether it pays at all.
#pragma once

#include "backends/cpu/kernels/conv_phases.h"
#include "backends/cpu/kernels/winograd_axis.h"

namespace hr::cpu {

// While a weight comes from memory, at 20 GB/s, so many multiply-adds of a direct sum are done.
inline constexpr double kReadWeight = 24;

struct WinogradMethod {
  WinogradTiling tiling = WinogradTiling::kLarge;
  bool packed = false;  // weights are ordered once and kept, not in each run
};

// Whether the tiles of that kernel have 8 pixels in a row or a column (WinogradAxisFor). Their
// errors are as winograd.h says where four fifths of the taps lie inside of the image: direct sums
// leave out the others, and err less. The gradient of the weights has to sum many pixels, too, as
// errors of direct sums grow with them.
bool WinogradHasEightPixels(const ConvShape& shape);
bool WinogradFillsTaps(const ConvShape& shape);
bool WinogradFillsWeightSums(const ConvShape& shape);

// Whether the passes of winograd_channels_last.h and winograd_channels_last_weights.h take a
// convolution: one of WinogradIsAccurate with channels that fill whole vectors, and pads that are
// smaller than the kernel.
bool WinogradTakesChannelsLast(const ConvShape& shape);
// Whether it may use small tiles, too.
bool WinogradHasSmallTiles(const ConvShape& shape);

// The best way for a pass that is taken. `steady`: weights may be kept. Kept weights are 4 times as
// large as given ones, and 1.8 times in small tiles: what fills no cache is read for longer than
// ordering it anew takes.
WinogradMethod WinogradMethodFor(const ConvShape& shape, ImagePass pass, bool steady);
// What that costs: multiply-adds of a direct sum in the same time.
double WinogradChannelsLastCost(const ConvShape& shape, ImagePass pass, bool steady);
// Whether a pass is taken, and is expected to be faster than a direct sum.
bool WinogradChannelsLastPays(const ConvShape& shape, ImagePass pass, bool steady);

// The same of the gradient of the weights.
WinogradTiling WinogradWeightsTiling(const ConvShape& shape);
double WinogradChannelsLastWeightsCost(const ConvShape& shape);
bool WinogradChannelsLastWeightsPays(const ConvShape& shape);

// The gradient of an image is a convolution of the result's gradient with turned kernels: its
// shape.
ConvShape AsForward(ConvShape shape, ImagePass pass);

}  // namespace hr::cpu
