// GFLOP/s of the portable matrix products, and how much of the FMA peak that is: the best of many
// short repeats.
//   bench_gemm [threads]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/cpu/kernels/gemm.h"
#include "tests/kernels/fma_peak.h"
#include "tests/kernels/measure.h"

namespace hr::cpu {
namespace {

struct Case {
  const char* name;
  GemmShape shape;
};

void Measure(const Lease& threads, const Case& item, int slices, double peak) {
  const GemmShape& s = item.shape;
  std::vector<float> a(static_cast<size_t>(s.m * s.k), 0.5f),
      b(static_cast<size_t>(s.n * s.k), 0.5f);
  std::vector<float> c(static_cast<size_t>(s.m * s.n));
  std::vector<char> scratch(
      std::max(GemmScratchBytes<float>(s, slices), GemmPackedBScratchBytes<float>(s, slices)));
  std::vector<float> packed(PackedBBytes<float>(s.n, s.k) / sizeof(float));
  PackB(threads, s.n, s.k, s.transpose_b, b.data(), s.ldb, packed.data(), slices);
  const double plain = bench::BestSeconds(
      slices, [&] { Gemm(threads, s, a.data(), b.data(), c.data(), {}, slices, scratch.data()); });
  const double weights = bench::BestSeconds(slices, [&] {
    GemmPackedB(threads, s, a.data(), packed.data(), c.data(), {}, slices, scratch.data());
  });
  const double flops =
      2e-9 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  std::printf("%-22s %5ld x %5ld x %5ld %9.2f us %7.1f GFLOP/s %5.1f %%   packed B %7.1f GFLOP/s\n",
              item.name, s.m, s.n, s.k, plain * 1e6, flops / plain, 100 * flops / plain / peak,
              flops / weights);
}

const Case kCases[] = {
    {"square", GemmShape::Dense(256, 256, 256)},
    {"square", GemmShape::Dense(512, 512, 512)},
    {"square", GemmShape::Dense(1024, 1024, 1024)},
    {"square", GemmShape::Dense(2048, 2048, 2048)},
    {"square TB", GemmShape::Dense(1024, 1024, 1024, false, true)},
    {"square TA", GemmShape::Dense(1024, 1024, 1024, true, false)},
    {"square TA TB", GemmShape::Dense(1024, 1024, 1024, true, true)},
    {"lenet fc1", GemmShape::Dense(64, 500, 800, false, true)},
    {"lenet fc1 data", GemmShape::Dense(64, 800, 500)},
    {"lenet fc1 weights", GemmShape::Dense(500, 800, 64, true)},
    {"lenet fc2", GemmShape::Dense(64, 10, 500, false, true)},
    {"lenet fc2 data", GemmShape::Dense(64, 500, 10)},
    {"lenet fc2 weights", GemmShape::Dense(10, 500, 64, true)},
    {"lenet fc1", GemmShape::Dense(256, 500, 800, false, true)},
    {"lenet fc1 data", GemmShape::Dense(256, 800, 500)},
    {"lenet fc1 weights", GemmShape::Dense(500, 800, 256, true)},
    {"mlp 1", GemmShape::Dense(1, 128, 784)},
    {"mlp 1 TB", GemmShape::Dense(1, 128, 784, false, true)},
    {"mlp 2", GemmShape::Dense(1, 10, 128)},
    {"mlp 2 TB", GemmShape::Dense(1, 10, 128, false, true)},
    {"mlp 1", GemmShape::Dense(32, 128, 784)},
    {"mlp 1 TB", GemmShape::Dense(32, 128, 784, false, true)},
    {"mlp 2", GemmShape::Dense(32, 10, 128)},
    {"mlp 2 TB", GemmShape::Dense(32, 10, 128, false, true)},
    {"tiny", GemmShape::Dense(8, 8, 8)},
    {"tiny", GemmShape::Dense(1, 1, 1)},
};

int Main(int threads) {
  auto pool = CreateThreadPool(threads).value();
  ThreadBudget budget(*pool);
  const Lease lease = budget.Acquire(threads, {}).value();
  const double peak = bench::MeasureFmaPeak(lease);
  std::printf("%d threads, FMA peak %.1f GFLOP/s\n", threads, peak);
  for (const Case& item : kCases) Measure(lease, item, threads, peak);
  return 0;
}

}  // namespace
}  // namespace hr::cpu

int main(int argc, char** argv) { return hr::cpu::Main(argc > 1 ? std::atoi(argv[1]) : 2); }
