// Our kernels and oneDNN's in turn, on the shapes that backends/cpu/onednn/choice.h is drawn from:
// microseconds, the best of many short runs, and ratios (our time / oneDNN's, so above 1 oneDNN is
// faster). "packed" and "kept" have their weights packed beforehand.
//   bench_onednn [threads [words that the names of the cases to run contain]]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_plain.h"
#include "backends/cpu/kernels/winograd.h"
#include "backends/cpu/onednn/convolution.h"
#include "backends/cpu/onednn/matmul.h"
#include "tests/kernels/measure.h"

namespace hr::cpu::onednn {
namespace {

template <typename T>
struct Memory {
  explicit Memory(size_t count)
      : data(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64))) {
    for (size_t i = 0; i < count; ++i) data.get()[i] = static_cast<T>(static_cast<int>(i % 7) - 3);
  }
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  T* get() const { return data.get(); }
  std::unique_ptr<T, Free> data;
};
using Floats = Memory<float>;
using Bytes = Memory<char>;

class Bench {
 public:
  Bench(const Lease& threads, std::string wanted)
      : threads_(threads), slices_(threads.threads()), wanted_(std::move(wanted)) {}

  void Gemm(const std::string& name, const GemmShape& s) const {
    if (name.find(wanted_) == std::string::npos) return;
    Floats a(s.m * s.k), b(s.n * s.k), c(s.m * s.n);
    Bytes scratch(
        std::max(GemmScratchBytes<float>(s, slices_), GemmPackedBScratchBytes<float>(s, slices_)));
    Floats packed(PackedBBytes<float>(s.n, s.k) / sizeof(float));
    auto plain = MatMul::Create(s, {.slices = slices_}).value();
    auto kept = MatMul::Create(s, {.packed_b = true, .slices = slices_}).value();
    Floats kept_b(kept->packed_bytes() / sizeof(float));
    Bytes memory(std::max(plain->scratch_bytes(), kept->scratch_bytes()));
    PackB(threads_, s.n, s.k, s.transpose_b, b.get(), s.ldb, packed.get(), slices_);
    Must(kept->Pack(threads_, b.get(), kept_b.get(), memory.get()));
    const std::vector<double> times = bench::BestInTurn(
        slices_,
        {[&] { cpu::Gemm(threads_, s, a.get(), b.get(), c.get(), {}, slices_, scratch.get()); },
         [&] { Must(plain->Run(threads_, a.get(), b.get(), nullptr, c.get(), memory.get())); },
         [&] {
           GemmPackedB(threads_, s, a.get(), packed.get(), c.get(), {}, slices_, scratch.get());
         },
         [&] { Must(kept->Run(threads_, a.get(), kept_b.get(), nullptr, c.get(), memory.get())); },
         [&] { PackB(threads_, s.n, s.k, s.transpose_b, b.get(), s.ldb, packed.get(), slices_); }});
    std::printf(
        "%-28s ours %9.1f  oneDNN %9.1f  ratio %5.2f | packed: ours %9.1f  oneDNN %9.1f"
        "  ratio %5.2f | packing %8.1f\n",
        name.c_str(), 1e6 * times[0], 1e6 * times[1], times[0] / times[1], 1e6 * times[2],
        1e6 * times[3], times[2] / times[3], 1e6 * times[4]);
    std::fflush(stdout);
  }

  void Conv(const std::string& name, const ConvShape& s) const {
    for (ConvPass pass :
         {ConvPass::kForward, ConvPass::kBackwardData, ConvPass::kBackwardWeights}) {
      constexpr const char* kNames[] = {"forward", "data", "weights"};
      Pass(Cat(name, " ", kNames[static_cast<size_t>(pass)]), s, pass);
    }
  }

 private:
  static void Must(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }

  void Pass(const std::string& name, const ConvShape& s, ConvPass pass) const {
    if (name.find(wanted_) == std::string::npos) return;
    Floats x(BatchBlockedElements<float>(s.n, s.ic * s.InputPlane())), w(s.oc * s.Taps());
    Floats y(BatchBlockedElements<float>(s.n, s.oc * s.OutputPlane())), bias(s.oc);
    Bytes scratch(ConvPlainWeightsScratchBytes<float>(s, slices_));
    const bool pack = pass != ConvPass::kBackwardWeights;
    auto plain = Convolution::Create(s, {.pass = pass, .slices = slices_}).value();
    auto kept =
        Convolution::Create(s, {.pass = pass, .packed_weights = pack, .slices = slices_}).value();
    Bytes memory(std::max(plain->scratch_bytes(), kept->scratch_bytes()));
    Floats kept_w(kept->packed_bytes() / sizeof(float));
    if (pack) Must(kept->Pack(threads_, w.get(), kept_w.get(), memory.get()));
    const std::vector<double> times = bench::BestInTurn(
        slices_, {[&] { Plain(s, pass, x.get(), w.get(), y.get(), scratch.get()); },
                  [&] {
                    Must(plain->Run(threads_, {x.get(), w.get(), y.get()}, memory.get()));
                  },
                  [&] {
                    float* weights = pack ? kept_w.get() : w.get();
                    Must(kept->Run(threads_, {x.get(), weights, y.get()}, memory.get()));
                  }});
    std::printf("%-36s ours %9.1f  oneDNN %9.1f  ratio %5.2f | kept %9.1f  ratio %5.2f",
                name.c_str(), 1e6 * times[0], 1e6 * times[1], times[0] / times[1], 1e6 * times[2],
                times[0] / times[2]);
    if (s.n >= kBatchBlock<float> / 2) {
      const double blocked = BatchBlocked(s, pass, x.get(), w.get(), y.get());
      std::printf(" | batch-blocked %9.1f  ratio %5.2f", 1e6 * blocked, blocked / times[1]);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  void Plain(const ConvShape& s, ConvPass pass, float* x, float* w, float* y, void* scratch) const {
    if (pass == ConvPass::kForward) {
      ConvPlainForward<float>(threads_, s, x, w, nullptr, Activation::kNone, y, slices_, scratch);
    } else if (pass == ConvPass::kBackwardData) {
      ConvPlainBackwardData<float>(threads_, s, y, w, x, slices_, scratch);
    } else {
      ConvPlainBackwardWeights<float>(threads_, s, y, x, w, nullptr, slices_, scratch);
    }
  }

  double BatchBlocked(const ConvShape& s, ConvPass pass, float* x, float* w, float* y) const {
    const ConvPasses<float>& passes = ConvPassesFor<float>(s);
    const ConvFusion none;
    const ConvGradient<float> gradient{.dy = y};
    if (pass == ConvPass::kForward) {
      Bytes scratch(passes.forward_scratch_bytes(s, none, slices_));
      return bench::BestSeconds(slices_, [&] {
        passes.forward(threads_, s, none, {.x = x, .w = w, .y = y}, slices_, scratch.get());
      });
    }
    if (pass == ConvPass::kBackwardData) {
      Bytes scratch(passes.backward_data_scratch_bytes(s, none, slices_));
      return bench::BestSeconds(slices_, [&] {
        passes.backward_data(threads_, s, none, gradient, w, x, slices_, scratch.get());
      });
    }
    Bytes scratch(passes.backward_weights_scratch_bytes(s, none, slices_));
    return bench::BestSeconds(slices_, [&] {
      passes.backward_weights(threads_, s, none, gradient, x, w, nullptr, slices_, scratch.get());
    });
  }

  const Lease& threads_;
  const int slices_;
  const std::string wanted_;
};

std::string Name(const GemmShape& s) {
  return Cat("gemm ", s.m, "x", s.n, "x", s.k, s.transpose_a ? " TA" : "",
             s.transpose_b ? " TB" : "");
}

void Products(const Bench& bench) {
  const auto add = [&](int64_t m, int64_t n, int64_t k, bool ta = false, bool tb = false) {
    const auto shape = GemmShape::Dense(m, n, k, ta, tb);
    bench.Gemm(Name(shape), shape);
  };
  for (const int64_t n : {1, 32, 64, 256}) {  // LeNet's and an MLP's layers: y, dx, dw
    add(n, 500, 800, false, true), add(n, 800, 500), add(500, 800, n, true);
    add(n, 10, 500, false, true), add(n, 500, 10), add(10, 500, n, true);
    add(n, 128, 784, false, true), add(128, 784, n, true);
  }
  for (const int64_t n : {64, 96, 128, 192, 256, 512, 1024, 2048}) add(n, n, n);
  for (const int64_t n : {128, 256, 512, 1024}) add(n, n, n, false, true), add(n, n, n, true);
  add(128, 768, 768), add(128, 3072, 768), add(128, 768, 3072), add(128, 768, 768, false, true);
  add(16, 4096, 1024), add(8, 1024, 1024), add(1, 4096, 4096), add(64, 1000, 2048);
  add(1000, 100, 30), add(100, 1000, 30), add(333, 77, 555), add(2000, 64, 64);
  for (const int64_t n : {16, 128, 1024}) {  // an encoder's layers: y, dx, dw
    add(n, 384, 384), add(n, 1536, 384), add(n, 384, 1536);
    add(n, 384, 384, false, true), add(n, 384, 1536, false, true), add(n, 1536, 384, false, true);
    add(384, 384, n, true), add(384, 1536, n, true), add(1536, 384, n, true);
  }
}

ConvShape Shape(int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t kernel, int64_t stride = 1,
                int64_t groups = 1) {
  ConvShape s;
  s.n = n, s.ic = ic, s.ih = s.iw = size, s.oc = oc, s.kh = s.kw = kernel, s.groups = groups;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
  s.sh = s.sw = stride;
  s.DeriveOutput();
  return s;
}

void Convolutions(const Bench& bench) {
  for (const int64_t n : {1, 2, 4, 8, 12, 16, 64}) {
    const auto add = [&](int64_t ic, int64_t size, int64_t oc, int64_t kernel, int64_t stride = 1,
                         int64_t groups = 1) {
      const std::string step = stride > 1 ? Cat("/", stride) : "";
      const std::string cut = groups > 1 ? Cat(" g", groups) : "";
      const std::string name =
          Cat("conv ", kernel, "x", kernel, step, " ", ic, "->", oc, " at ", size, cut, " n=", n);
      bench.Conv(name, Shape(n, ic, size, oc, kernel, stride, groups));
    };
    add(1, 28, 20, 5), add(20, 12, 50, 5), add(3, 32, 16, 3), add(3, 112, 64, 7, 2);
    add(8, 28, 8, 3), add(16, 32, 16, 3), add(30, 20, 50, 3), add(64, 56, 64, 3);
    add(128, 28, 128, 3), add(256, 14, 256, 3), add(512, 7, 512, 3);
    add(64, 56, 128, 3, 2), add(256, 14, 512, 3, 2);
    add(64, 28, 64, 1), add(256, 28, 64, 1), add(64, 28, 256, 1), add(512, 14, 128, 1);
    add(512, 7, 2048, 1), add(256, 28, 512, 1, 2);
    add(64, 28, 64, 3, 1, 64), add(24, 28, 24, 3, 1, 24), add(64, 28, 64, 3, 1, 4);
    add(128, 14, 128, 3, 2, 128);
    // ResNet-18 at 64 x 64, beside the above.
    add(3, 64, 64, 7, 2), add(64, 16, 64, 3), add(64, 16, 128, 3, 2), add(64, 16, 128, 1, 2);
    add(128, 8, 128, 3), add(128, 8, 256, 3, 2), add(256, 4, 256, 3), add(256, 4, 512, 3, 2);
    add(512, 2, 512, 3);
  }
}

void Run(int threads, const char* wanted) {
  auto pool = CreateThreadPool(threads).value();
  ThreadBudget budget(*pool);
  const Lease lease = budget.Acquire(threads, {}).value();
  const Bench bench(lease, wanted);
  std::printf("%d threads\n", threads);
  Products(bench);
  Convolutions(bench);
}

}  // namespace
}  // namespace hr::cpu::onednn

int main(int argc, char** argv) {
  hr::cpu::onednn::Run(argc > 1 ? std::atoi(argv[1]) : 2, argc > 2 ? argv[2] : "");
}
