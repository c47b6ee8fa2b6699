// Batch-blocked and channels-last convolutions of LeNet, of ResNet-18 and of common shapes:
// microseconds, GFLOP/s and percent of the machine's multiply-add peak, the best of many short
// runs.
//   bench_conv [threads [words that the names of the cases to run contain]]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/grouped_channels_last.h"
#include "backends/cpu/kernels/split_conv.h"
#include "backends/cpu/kernels/split_conv_weights.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/kernels/winograd_channels_last.h"
#include "backends/cpu/kernels/winograd_channels_last_weights.h"
#include "tests/kernels/fma_peak.h"
#include "tests/kernels/measure.h"

namespace hr::cpu {
namespace {

struct Floats {
  explicit Floats(int64_t count)
      : data(static_cast<float*>(std::aligned_alloc(64, (count * sizeof(float) + 64) / 64 * 64))) {
    for (int64_t i = 0; i < count; ++i) data.get()[i] = static_cast<float>(i % 7 - 3) / 8;
  }
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  float* get() const { return data.get(); }
  std::unique_ptr<float, Free> data;
};

struct Bench {
  Lease threads;
  double peak;
  std::string wanted;

  template <typename Body>
  void Time(const std::string& name, double operations, Body&& body) const {
    if (name.find(wanted) == std::string::npos) return;
    const double nanos = 1e9 * bench::BestSeconds(threads.threads(), body);
    std::printf("%-40s %9.1f us", name.c_str(), nanos / 1e3);
    if (operations > 0) {
      std::printf(" %8.1f GFLOP/s %5.1f %%", operations / nanos, 100 * operations / nanos / peak);
    }
    std::printf("\n");
  }

  // Winograd's figures count the operations of a direct convolution: they may exceed the peak.
  void Conv(const std::string& name, const ConvShape& s, const ConvFusion& fusion) const {
    Method(name, s, fusion, DirectConvPasses<float>());
    if (WinogradTakes(s)) {
      Method(name + (WinogradPays(s) ? " W" : " w"), s, fusion, WinogradConvPasses());
    }
  }

  // Memory of a convolution's channels-last images.
  struct Images {
    explicit Images(const ConvShape& s)
        : operations(2.0 * s.n * s.oc * s.oh * s.ow * s.Taps()),
          x(s.n * s.ic * s.InputPlane()),
          y(s.n * s.oc * s.OutputPlane()),
          w(s.oc * s.Taps()),
          bias(s.oc),
          dx(s.n * s.ic * s.InputPlane()),
          dw(s.oc * s.Taps()) {}
    double operations;
    Floats x, y, w, bias, dx, dw;
  };

  template <typename Conv>
  void Image(const std::string& title, const Images& images, const Conv& conv, ImagePass pass,
             bool packed) const {
    Floats weights(conv.packed_bytes() / sizeof(float));
    Floats scratch(conv.scratch_bytes() / sizeof(float));
    if (packed) conv.Pack(threads, images.w.get(), weights.get());
    const float* const w = packed ? weights.get() : images.w.get();
    const ConvImageMemory<float> forward{
        images.x.get(), w, images.y.get(), {.bias = images.bias.get()}};
    const ConvImageMemory<float> backward{images.y.get(), w, images.dx.get(), {}};
    Time(title, images.operations, [&] {
      conv.Run(threads, pass == ImagePass::kForward ? forward : backward, scratch.get());
    });
  }

  template <typename Weights>
  void Gradient(const std::string& title, const Images& images, const Weights& weights) const {
    Floats scratch(weights.scratch_bytes() / sizeof(float));
    Time(title, images.operations, [&] {
      weights.Run(threads, images.x.get(), images.y.get(), images.dw.get(), scratch.get());
    });
  }

  // Calls body(name of a pass, pass, whether weights are packed).
  template <typename Body>
  static void ForImagePasses(const Body& body) {
    body(" L forward", ImagePass::kForward, false);
    body(" L forward, packed", ImagePass::kForward, true);
    body(" L backward data", ImagePass::kBackwardData, false);
  }

  void Depthwise(const std::string& name, const ConvShape& s) const {
    const int slices = threads.threads();
    const Images images(s);
    ForImagePasses([&](const char* of_pass, ImagePass pass, bool packed) {
      Image(name + of_pass, images, DepthwiseChannelsLast<float>(s, pass, packed, slices), pass,
            packed);
    });
    Gradient(name + " L backward weights", images, DepthwiseChannelsLastWeights<float>(s, slices));
    ForImagePasses([&](const char* of_pass, ImagePass pass, bool packed) {
      Image(name + of_pass + " G", images, GroupedChannelsLast<float>(s, pass, packed, slices),
            pass, packed);
    });
    Gradient(name + " L backward weights G", images, GroupedChannelsLastWeights<float>(s, slices));
  }

  void Grouped(const std::string& name, const ConvShape& s) const {
    const int slices = threads.threads();
    const Images images(s);
    ForImagePasses([&](const char* of_pass, ImagePass pass, bool packed) {
      Image(name + of_pass, images, ConvChannelsLast<float>(s, pass, packed, slices), pass, packed);
      Image(name + of_pass + " G", images, GroupedChannelsLast<float>(s, pass, packed, slices),
            pass, packed);
    });
    const std::string weights = name + " L backward weights";
    Gradient(weights, images, ConvChannelsLastWeights<float>(s, slices));
    Gradient(weights + " G", images, GroupedChannelsLastWeights<float>(s, slices));
  }

  void ChannelsLast(const std::string& name, const ConvShape& s) const {
    const int slices = threads.threads();
    const Images images(s);
    ForImagePasses([&](const char* of_pass, ImagePass pass, bool packed) {
      Image(name + of_pass, images, ConvChannelsLast<float>(s, pass, packed, slices), pass, packed);
      if (!WinogradTakesChannelsLast(s)) return;
      const WinogradMethod best = WinogradMethodFor(s, pass, packed);
      const bool pays = WinogradChannelsLastPays(s, pass, packed);
      for (const WinogradTiling tiling : Tilings(s)) {
        const bool chosen = pays && best.tiling == tiling && best.packed == packed;
        Image(name + of_pass + Name(tiling, chosen), images,
              WinogradChannelsLast(s, pass, {tiling, packed}, slices), pass, packed);
      }
    });
    const std::string weights = name + " L backward weights";
    Gradient(weights, images, ConvChannelsLastWeights<float>(s, slices));
    if (const SplitKernels* unit = SplitKernelsInUse()) {
      Gradient(weights + " M", images, SplitConvWeights(*unit, s, slices));
    }
    if (!WinogradTakesChannelsLast(s)) return;
    for (const WinogradTiling tiling : Tilings(s)) {
      const bool chosen = WinogradChannelsLastWeightsPays(s) && WinogradWeightsTiling(s) == tiling;
      Gradient(weights + Name(tiling, chosen), images,
               WinogradChannelsLastWeights(s, tiling, slices));
    }
  }

  static std::vector<WinogradTiling> Tilings(const ConvShape& s) {
    if (!WinogradHasSmallTiles(s)) return {WinogradTiling::kLarge};
    return {WinogradTiling::kLarge, WinogradTiling::kSmall};
  }
  static std::string Name(WinogradTiling tiling, bool chosen) {
    return std::string(chosen ? " W" : " w") + (tiling == WinogradTiling::kSmall ? " small" : "");
  }

  void Method(const std::string& name, const ConvShape& s, const ConvFusion& fusion,
              const ConvPasses<float>& passes) const {
    const int slices = threads.threads();
    const double operations = 2.0 * s.n * s.oc * s.oh * s.ow * s.Taps();
    const int64_t in = BatchBlockedElements<float>(s.n, s.ic * s.ih * s.iw);
    const int64_t out =
        BatchBlockedElements<float>(s.n, s.oc * fusion.OutputRows(s) * fusion.OutputColumns(s));
    Floats plain(in), x(in), y(out), w(s.oc * s.Taps()), bias(s.oc), dx(in), dy(out);
    Floats dw(s.oc * s.Taps()), db(s.oc);
    std::vector<uint8_t> argmax(out + 64);
    uint8_t* where = argmax.data();
    Floats scratch((passes.forward_scratch_bytes(s, fusion, slices) +
                    passes.backward_data_scratch_bytes(s, fusion, slices) +
                    passes.backward_weights_scratch_bytes(s, fusion, slices)) /
                   sizeof(float));
    const ConvGradient<float> gradient{dy.get(), where, y.get()};
    Time(name + " to blocked", 0,
         [&] { ToBatchBlocked(threads, s.n, s.ic * s.ih * s.iw, plain.get(), x.get(), slices); });
    Time(name + " forward", operations, [&] {
      passes.forward(threads, s, fusion, {x.get(), w.get(), bias.get(), y.get(), where}, slices,
                     scratch.get());
    });
    Time(name + " backward data", operations, [&] {
      passes.backward_data(threads, s, fusion, gradient, w.get(), dx.get(), slices, scratch.get());
    });
    Time(name + " backward weights", operations, [&] {
      passes.backward_weights(threads, s, fusion, gradient, x.get(), dw.get(), db.get(), slices,
                              scratch.get());
    });
  }
};

ConvShape Shape(int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t kernel, int64_t pad = 0,
                int64_t stride = 1) {
  ConvShape s;
  s.n = n, s.ic = ic, s.ih = s.iw = size, s.oc = oc, s.kh = s.kw = kernel;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  s.sh = s.sw = stride;
  s.DeriveOutput();
  return s;
}

void Run(int threads, const char* wanted) {
  auto pool = CreateThreadPool(threads).value();
  ThreadBudget budget(*pool);
  Bench bench{budget.Acquire(threads, {}).value(), 0, wanted};
  bench.peak = bench::MeasureFmaPeak(bench.threads);
  std::printf("%d threads, peak %.1f GFLOP/s\n", bench.threads.threads(), bench.peak);
  const ConvFusion pooled{true, 2, 2}, relu{true};
  for (const int64_t n : {64, 256}) {
    const std::string batch = " n=" + std::to_string(n);
    bench.Conv("5x5 1->20 28x28" + batch, Shape(n, 1, 28, 20, 5), pooled);
    bench.Conv("5x5 20->50 12x12" + batch, Shape(n, 20, 12, 50, 5), pooled);
  }
  bench.Conv("3x3 16->16 32x32 n=32", Shape(32, 16, 32, 16, 3, 1), relu);
  bench.Conv("3x3 64->64 28x28 n=16", Shape(16, 64, 28, 64, 3, 1), {});
  for (const int64_t n : {1, 8, 32}) {
    const std::string batch = " n=" + std::to_string(n);
    bench.ChannelsLast("7x7/2 3->64 64x64" + batch, Shape(n, 3, 64, 64, 7, 3, 2));
    for (const int64_t c : {64, 128, 256, 512}) {
      const int64_t size = 1024 / c;
      const std::string to = "->" + std::to_string(c) + " to " + std::to_string(size) + batch;
      bench.ChannelsLast("3x3" + to, Shape(n, c, size, c, 3, 1));
      if (n >= 8) bench.Conv("3x3" + to, Shape(n, c, size, c, 3, 1), {});
      if (c == 64) continue;
      bench.ChannelsLast("3x3/2" + to, Shape(n, c / 2, 2 * size, c, 3, 1, 2));
      bench.ChannelsLast("1x1/2" + to, Shape(n, c / 2, 2 * size, c, 1, 0, 2));
    }
  }
  // Those of ResNet-50 and MobileNetV2 for images of 64 x 64.
  for (const auto& [ic, oc, size] : {std::array<int64_t, 3>{64, 256, 16},
                                     {256, 64, 16},
                                     {128, 512, 8},
                                     {512, 128, 8},
                                     {256, 1024, 4},
                                     {1024, 256, 4},
                                     {512, 2048, 2},
                                     {2048, 512, 2},
                                     {16, 96, 32},
                                     {96, 24, 16},
                                     {24, 144, 16},
                                     {192, 32, 8},
                                     {64, 384, 4},
                                     {576, 96, 4},
                                     {160, 960, 2}}) {
    bench.ChannelsLast("1x1 " + std::to_string(ic) + "->" + std::to_string(oc) + " of " +
                           std::to_string(size) + " n=8",
                       Shape(8, ic, size, oc, 1));
  }
  // Those of ResNet-50 for one image of 224 x 224.
  for (const auto& [ic, oc, size] : {std::array<int64_t, 3>{64, 256, 56},
                                     {256, 64, 56},
                                     {128, 512, 28},
                                     {512, 128, 28},
                                     {256, 1024, 14},
                                     {1024, 256, 14},
                                     {512, 2048, 7},
                                     {2048, 512, 7}}) {
    bench.ChannelsLast("1x1 " + std::to_string(ic) + "->" + std::to_string(oc) + " of " +
                           std::to_string(size) + " n=1",
                       Shape(1, ic, size, oc, 1));
  }
  for (const auto& [c, size] : {std::array<int64_t, 2>{128, 28}, {256, 14}, {512, 7}}) {
    bench.ChannelsLast("3x3 " + std::to_string(c) + " of " + std::to_string(size) + " n=1",
                       Shape(1, c, size, c, 3, 1));
  }
  for (const int64_t n : {1, 8}) {
    // Those of MobileNetV2 for images of 64 x 64.
    for (const auto& [c, size, stride] : {std::array<int64_t, 3>{32, 32, 1},
                                          {96, 32, 2},
                                          {144, 16, 1},
                                          {144, 16, 2},
                                          {192, 8, 1},
                                          {384, 4, 1},
                                          {576, 4, 2},
                                          {960, 2, 1}}) {
      ConvShape s = Shape(n, c, size, c, 3, 1, stride);
      s.groups = c;
      bench.Depthwise("depthwise 3x3/" + std::to_string(stride) + " " + std::to_string(c) + " of " +
                          std::to_string(size) + " n=" + std::to_string(n),
                      s);
    }
  }
  // Channels in and out, groups, size, kernel, stride, dilation.
  for (const auto& [ic, oc, groups, size, kernel, stride, dilation] :
       {std::array<int64_t, 7>{64, 64, 4, 16, 3, 1, 1},
        {128, 128, 4, 14, 3, 2, 1},
        {128, 128, 32, 28, 3, 1, 1},
        {256, 256, 32, 28, 3, 2, 1},
        {1024, 1024, 32, 7, 3, 1, 1},
        {96, 96, 2, 14, 3, 1, 1},
        {512, 512, 2, 7, 3, 1, 1},
        {64, 64, 4, 16, 3, 1, 2},
        {120, 120, 3, 14, 1, 1, 1},
        {240, 240, 60, 14, 5, 1, 1},
        {32, 64, 32, 32, 3, 1, 1},
        {48, 192, 48, 16, 3, 2, 1}}) {
    for (const int64_t n : {1, 8}) {
      ConvShape s = Shape(n, ic, size, oc, kernel, kernel / 2 * dilation, stride);
      s.groups = groups, s.dh = s.dw = dilation;
      s.DeriveOutput();
      char name[96];
      std::snprintf(name, sizeof name, "grouped %ldx%ld/%ld %ld->%ld by %ld of %ld d%ld n=%ld",
                    kernel, kernel, stride, ic, oc, groups, size, dilation, n);
      bench.Grouped(name, s);
    }
  }
  bench.Conv("1x1 64->64 28x28 n=16", Shape(16, 64, 28, 64, 1), {});
  bench.Conv("3x3/2 32->64 29x29 n=16", Shape(16, 32, 29, 64, 3, 1, 2), {});
}

}  // namespace
}  // namespace hr::cpu

int main(int argc, char** argv) {
  hr::cpu::Run(argc > 1 ? std::atoi(argv[1]) : 2, argc > 2 ? argv[2] : "");
}
