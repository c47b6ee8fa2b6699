// oneDNN's side of tests/bench/run sweep-layers (see tests/bench/harness/side.py for the protocol):
// convolutions, and products with a weight. Weights are packed beforehand in "forward"; everything
// else is copied from and to plain layouts in every run, as a program without layouts would.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/onednn/convolution.h"
#include "backends/cpu/onednn/matmul.h"

namespace hr::cpu::onednn {
namespace {

constexpr double kSeconds = 0.4;  // of a measurement
constexpr int kMostRuns = 1000;
constexpr uint32_t kWeightSeed = 8, kOutputSeed = 15;  // of models/layers_torch.py

struct Free {
  void operator()(void* p) const { std::free(p); }
};

struct Floats {
  explicit Floats(size_t count)
      : size(count),
        data(static_cast<float*>(std::aligned_alloc(64, (count * 4 + 127) / 64 * 64))) {}
  // The numbers of networks_torch.uniform.
  Floats(size_t count, uint32_t seed) : Floats(count) {
    for (size_t i = 0; i < count; ++i) {
      uint32_t n = (static_cast<uint32_t>(i) + (seed << 26)) * 2654435761u;
      n = (n ^ n >> 16) * 73244475u;
      data.get()[i] = static_cast<float>((n >> 8 ^ n % (1u << 24))) / (1 << 23) - 1;
    }
  }
  float* get() const { return data.get(); }
  size_t size;
  std::unique_ptr<float, Free> data;
};

struct Layer {
  std::function<Status()> run;
  std::vector<std::shared_ptr<Floats>> results;
};

class Layers {
 public:
  explicit Layers(const Lease& threads) : threads_(threads), slices_(threads.threads()) {}

  Result<Layer> Make(const std::string& name, bool backward, int64_t batch) const {
    ConvShape s;
    int64_t m = 0, n = 0, k = 0;
    if (std::sscanf(name.c_str(), "conv-%ldx%*d-%ldx%ld-%ld", &s.kh, &s.ic, &s.oc, &s.ih) == 4) {
      s.n = batch, s.kw = s.kh, s.iw = s.ih;
      s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = s.kh / 2;
      s.sh = s.sw = Option(name, "-s", 1);
      s.groups = Option(name, "-g", 1);
      s.DeriveOutput();
      return backward ? ConvBackward(s) : ConvForward(s);
    }
    if (std::sscanf(name.c_str(), "product-%ldx%ldx%ld", &m, &n, &k) == 3) {
      const bool transposed = name.ends_with("-tb");
      return backward ? ProductBackward(m * batch, n, k, transposed)
                      : ProductForward(m * batch, n, k, transposed);
    }
    return InvalidArgument("oneDNN's side has convolutions and products, not ", name);
  }

 private:
  static int64_t Option(const std::string& name, const char* option, int64_t otherwise) {
    const size_t at = name.find(option);
    return at == std::string::npos ? otherwise : std::atoll(name.c_str() + at + 2);
  }

  Result<Layer> ConvForward(const ConvShape& s) const {
    HR_ASSIGN_OR_RETURN(
        auto made, Convolution::Create(
                       s, {.pass = ConvPass::kForward, .packed_weights = true, .slices = slices_}));
    std::shared_ptr<const Convolution> conv = std::move(made);
    auto x = std::make_shared<Floats>(s.n * s.ic * s.InputPlane(), 0);
    auto y = std::make_shared<Floats>(s.n * s.oc * s.OutputPlane());
    auto kept = std::make_shared<Floats>(conv->packed_bytes() / sizeof(float) + 1);
    auto scratch = std::make_shared<Floats>(conv->scratch_bytes() / sizeof(float) + 1);
    const Floats w(s.oc * s.Taps(), kWeightSeed);
    HR_RETURN_IF_ERROR(conv->Pack(threads_, w.get(), kept->get(), scratch->get()));
    return Layer{[=, this] {
                   return conv->Run(threads_, {x->get(), kept->get(), y->get()}, scratch->get());
                 },
                 {y}};
  }

  Result<Layer> ConvBackward(const ConvShape& s) const {
    auto x = std::make_shared<Floats>(s.n * s.ic * s.InputPlane(), 0);
    auto w = std::make_shared<Floats>(s.oc * s.Taps(), kWeightSeed);
    auto dy = std::make_shared<Floats>(s.n * s.oc * s.OutputPlane(), kOutputSeed);
    auto y = std::make_shared<Floats>(dy->size), dx = std::make_shared<Floats>(x->size),
         dw = std::make_shared<Floats>(w->size);
    std::vector<std::function<Status()>> steps;
    const auto add = [&](ConvPass pass, const auto& in, const auto& weights, const auto& out) {
      auto made = Convolution::Create(s, {.pass = pass, .slices = slices_});
      if (!made.ok()) return std::move(made).status();
      std::shared_ptr<const Convolution> conv = std::move(made).value();
      auto scratch = std::make_shared<Floats>(conv->scratch_bytes() / sizeof(float) + 1);
      steps.push_back([=, this] {
        return conv->Run(threads_, {in->get(), weights->get(), out->get()}, scratch->get());
      });
      return Status();
    };
    HR_RETURN_IF_ERROR(add(ConvPass::kForward, x, w, y));
    HR_RETURN_IF_ERROR(add(ConvPass::kBackwardData, dx, w, dy));
    HR_RETURN_IF_ERROR(add(ConvPass::kBackwardWeights, x, dw, dy));
    return Layer{InOrder(std::move(steps)), {dx, dw}};
  }

  Result<Layer> ProductForward(int64_t m, int64_t n, int64_t k, bool transposed) const {
    HR_ASSIGN_OR_RETURN(auto made, MatMul::Create(GemmShape::Dense(m, n, k, false, transposed),
                                                  {.packed_b = true, .slices = slices_}));
    std::shared_ptr<const MatMul> product = std::move(made);
    auto a = std::make_shared<Floats>(m * k, 0), c = std::make_shared<Floats>(m * n);
    auto kept = std::make_shared<Floats>(product->packed_bytes() / sizeof(float) + 1);
    auto scratch = std::make_shared<Floats>(product->scratch_bytes() / sizeof(float) + 1);
    const Floats b(n * k, kWeightSeed);
    HR_RETURN_IF_ERROR(product->Pack(threads_, b.get(), kept->get(), scratch->get()));
    return Layer{[=, this] {
                   return product->Run(threads_, a->get(), kept->get(), nullptr, c->get(),
                                       scratch->get());
                 },
                 {c}};
  }

  // y = a b, da = dy b', db = a' dy (or its transpose, dy' a).
  Result<Layer> ProductBackward(int64_t m, int64_t n, int64_t k, bool transposed) const {
    auto a = std::make_shared<Floats>(m * k, 0), b = std::make_shared<Floats>(n * k, kWeightSeed);
    auto dy = std::make_shared<Floats>(m * n, kOutputSeed), y = std::make_shared<Floats>(m * n);
    auto da = std::make_shared<Floats>(m * k), db = std::make_shared<Floats>(n * k);
    std::vector<std::function<Status()>> steps;
    const auto add = [&](const GemmShape& shape, const auto& left, const auto& right,
                         const auto& out) {
      auto made = MatMul::Create(shape, {.slices = slices_});
      if (!made.ok()) return std::move(made).status();
      std::shared_ptr<const MatMul> product = std::move(made).value();
      auto scratch = std::make_shared<Floats>(product->scratch_bytes() / sizeof(float) + 1);
      steps.push_back([=, this] {
        return product->Run(threads_, left->get(), right->get(), nullptr, out->get(),
                            scratch->get());
      });
      return Status();
    };
    HR_RETURN_IF_ERROR(add(GemmShape::Dense(m, n, k, false, transposed), a, b, y));
    HR_RETURN_IF_ERROR(add(GemmShape::Dense(m, k, n, false, !transposed), dy, b, da));
    HR_RETURN_IF_ERROR(transposed ? add(GemmShape::Dense(n, k, m, true, false), dy, a, db)
                                  : add(GemmShape::Dense(k, n, m, true, false), a, dy, db));
    return Layer{InOrder(std::move(steps)), {da, db}};
  }

  static std::function<Status()> InOrder(std::vector<std::function<Status()>> steps) {
    return [steps = std::move(steps)] {
      for (const auto& step : steps) HR_RETURN_IF_ERROR(step());
      return Status();
    };
  }

  const Lease& threads_;
  const int slices_;
};

// Milliseconds: the median of the runs that fit into the time.
Result<double> Time(const Layer& layer) {
  std::vector<double> times;
  double total = 0;
  while (times.empty() || (total < kSeconds && times.size() < kMostRuns)) {
    const auto start = std::chrono::steady_clock::now();
    HR_RETURN_IF_ERROR(layer.run());
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return 1e3 * times[times.size() / 2];
}

// As bench_place of tests/bench/cells.h.
size_t Place(size_t elements, size_t i, size_t count) {
  const size_t begin = elements * i / count, end = elements * (i + 1) / count;
  return begin + ((end - begin) * static_cast<uint32_t>(i * 2654435769u) >> 32);
}

// As many elements of each result.
Result<std::vector<double>> Elements(const Layer& layer, size_t count) {
  HR_RETURN_IF_ERROR(layer.run());
  const size_t each = count / layer.results.size();
  std::vector<double> values;
  for (const auto& result : layer.results) {
    for (size_t i = 0; i < each; ++i) values.push_back(result->get()[Place(result->size, i, each)]);
  }
  return values;
}

class Side {
 public:
  explicit Side(const Lease& threads) : layers_(threads) {}

  // ROW/MODE/COLUMN/WHAT
  Result<std::vector<double>> Answer(const std::string& name, size_t repeats) {
    std::istringstream fields(name);
    std::string row, mode, column, what;
    std::getline(fields, row, '/'), std::getline(fields, mode, '/');
    std::getline(fields, column, '/'), std::getline(fields, what);
    const std::string cell = name.substr(0, name.size() - what.size());
    if (cell != cell_) {
      HR_ASSIGN_OR_RETURN(layer_,
                          layers_.Make(row, mode == "backward", std::atoll(column.c_str())));
      cell_ = cell;
    }
    if (what == "check") return Elements(layer_, repeats);
    std::vector<double> values(repeats, 0.0);
    for (double& value : values) {
      if (what != "time") continue;  // all sides of a sweep are asked for their peaks
      HR_ASSIGN_OR_RETURN(value, Time(layer_));
    }
    return values;
  }

 private:
  Layers layers_;
  std::string cell_;
  Layer layer_;
};

int Serve(int threads) {
  auto pool = CreateThreadPool(threads).value();
  ThreadBudget budget(*pool);
  const Lease lease = budget.Acquire(threads, {}).value();
  Side side(lease);
  std::string name;
  for (size_t repeats; std::cin >> name >> repeats;) {
    const auto values = side.Answer(name, repeats);
    if (values.ok()) {
      std::printf("{\"values\": [");
      for (size_t i = 0; i < repeats; ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", (*values)[i]);
      std::printf("]}\n");
    } else {
      std::printf("{\"error\": \"%s\"}\n", std::string(values.status().message()).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace hr::cpu::onednn

int main() {
  const char* threads = std::getenv("HEADRACE_BENCH_THREADS");
  return hr::cpu::onednn::Serve(threads == nullptr ? 2 : std::atoi(threads));
}
