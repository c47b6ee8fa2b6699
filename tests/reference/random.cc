#include <cmath>
#include <random>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// One generator per node: the same stream draws the same numbers in every run.
std::mt19937_64 Generator(const Call& call) {
  return std::mt19937_64(static_cast<uint64_t>(call.Int("stream", 0)) + 1);
}

// Fills an array with draws of `distribution`.
template <typename Distribution>
void Draw(Call& call, DType dtype, const Dims& dims, Distribution distribution) {
  auto generator = Generator(call);
  Array out(dtype, dims);
  for (Number& x : out.data) x = distribution(generator);
  call.Out(0, std::move(out));
}

DType DTypeOr(const Call& call, DType otherwise) {
  return static_cast<DType>(call.Int("dtype", static_cast<int64_t>(otherwise)));
}

auto Uniform(const Call& call) {
  return std::uniform_real_distribution<double>(call.node.Float("low", 0),
                                                call.node.Float("high", 1));
}
auto Normal(const Call& call) {
  return std::normal_distribution<double>(call.node.Float("mean", 0), call.node.Float("scale", 1));
}

void RandomUniform(Call& call) {
  Draw(call, DTypeOr(call, DType::kFloat32), call.Ints("shape"), Uniform(call));
}
void RandomNormal(Call& call) {
  Draw(call, DTypeOr(call, DType::kFloat32), call.Ints("shape"), Normal(call));
}
void RandomUniformLike(Call& call) {
  Draw(call, DTypeOr(call, call.In(0).dtype), call.In(0).dims, Uniform(call));
}
void RandomNormalLike(Call& call) {
  Draw(call, DTypeOr(call, call.In(0).dtype), call.In(0).dims, Normal(call));
}

void Bernoulli(Call& call) {
  auto generator = Generator(call);
  std::uniform_real_distribution<double> uniform;
  Array out = call.In(0);
  out.dtype = DTypeOr(call, out.dtype);
  for (Number& x : out.data) x = uniform(generator) < x;
  call.Out(0, std::move(out));
}

void Multinomial(Call& call) {
  const Array& log_prob = call.In(0);
  auto generator = Generator(call);
  Array out(DTypeOr(call, DType::kInt32), {log_prob.dims[0], call.Int("sample_size", 1)});
  ForEach(out.dims, [&](const Dims& i) {
    std::vector<double> weights;
    for (int64_t k = 0; k < log_prob.dims[1]; ++k) {
      weights.push_back(static_cast<double>(std::exp(log_prob[{i[0], k}])));
    }
    out[i] = std::discrete_distribution<int64_t>(weights.begin(), weights.end())(generator);
  });
  call.Out(0, std::move(out));
}

// What kept elements are multiplied by, given the inputs ratio and training_mode.
Number KeptScale(const Call& call, size_t ratio) {
  bool training = call.Scalar(ratio + 1, 0) != 0;
  return training ? 1 / (1 - call.Scalar(ratio, 0.5)) : 1;
}

void Dropout(Call& call) {
  const Array& x = call.In(0);
  bool training = call.Scalar(2, 0) != 0;
  Number ratio = training ? call.Scalar(1, 0.5) : 0;
  auto generator = Generator(call);
  std::uniform_real_distribution<double> uniform;
  Array mask(DType::kBool, x.dims);
  Array y = x;
  for (size_t i = 0; i < x.size(); ++i) {
    mask.data[i] = uniform(generator) >= ratio;
    y.data[i] = mask.data[i] != 0 ? x.data[i] * KeptScale(call, 1) : 0;
  }
  call.Out(0, std::move(y));
  call.Out(1, std::move(mask));
}

void DropoutGrad(Call& call) {
  Array dx = call.In(0);
  for (size_t i = 0; i < dx.size(); ++i) {
    dx.data[i] = call.In(1).data[i] != 0 ? dx.data[i] * KeptScale(call, 2) : 0;
  }
  call.Out(0, std::move(dx));
}

const Entry kRandomEntries[] = {
    {"", "RandomUniform", RandomUniform},
    {"", "RandomNormal", RandomNormal},
    {"", "RandomUniformLike", RandomUniformLike},
    {"", "RandomNormalLike", RandomNormalLike},
    {"", "Bernoulli", Bernoulli},
    {"", "Multinomial", Multinomial},
    {"", "Dropout", Dropout},
    {"headrace.grad", "DropoutGrad", DropoutGrad},
};

}  // namespace

std::span<const Entry> RandomFunctions() { return kRandomEntries; }

}  // namespace hr::reference
