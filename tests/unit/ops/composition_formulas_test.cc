// Compositions against the formulas of the operators' specifications, with parameters drawn widely.
#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/transform/compose.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::ops {
namespace {

using reference::Array;
using reference::Number;
using IntList = std::vector<int64_t>;

class Formulas : public transform::BuiltGraph {
 protected:
  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  Array Random(const Dims& dims) {
    Array array(DType::kFloat64, dims);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Number& x : array.data) x = uniform(engine_);
    return array;
  }

  // The first output of one node, computed by its composition. Integers are constants.
  Array Run(transform::NodeSpec spec, const std::vector<Array>& inputs) {
    transform::GraphBuilder builder(SystemAllocator(), registry_);
    std::map<ValueId, Array> feeds;
    for (const Array& input : inputs) {
      if (input.data.empty()) {
        spec.inputs.push_back(kNone);
      } else if (IsFloating(input.dtype)) {
        spec.inputs.push_back(*builder.AddInput(Cat("x", feeds.size()),
                                                graph::ValueType::Tensor(input.dtype, input.dims)));
        feeds[spec.inputs.back()] = input;
      } else {
        spec.inputs.push_back(*builder.Constant(reference::ToTensor(input)));
      }
    }
    auto node = builder.AddNode(spec);
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    auto module = transform::Composed(SystemAllocator(), registry_, builder.module(), true);
    EXPECT_TRUE(module.ok()) << module.status().ToString();
    auto y = reference::Evaluator(*module).Run(
        feeds, std::span(&module->main().nodes[*node].outputs[0], 1));
    EXPECT_TRUE(y.ok()) << y.status().ToString();
    return y.ok() ? (*y)[0] : Array();
  }

  static void ExpectNear(const Array& got, const Array& expected) {
    ASSERT_EQ(got.dims, expected.dims);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got.data[i]), static_cast<double>(expected.data[i]), 1e-13)
          << "element " << i << " of " << ShapeText(got.dims);
    }
  }

  std::mt19937_64 engine_{11};
};

// y[b, h, i] = sum over j of softmax(cap(q[b, h, i] · k[b, h / shared, j] · scale) + bias)[j] v[j]
TEST_F(Formulas, Attention) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const int64_t batch = Int(1, 2), key_heads = Int(1, 2), shared = Int(1, 3), size = Int(1, 4);
    const int64_t queries = Int(1, 4), keys = Int(1, 4), past = Chance(50) ? Int(1, 3) : 0;
    const int64_t values = Int(1, 3), all = past + keys;
    const bool causal = Chance(50), masked = Chance(50);
    const double cap = Chance(40) ? 0.75 : 0, scale = Chance(50) ? 0.5 : 0;
    const Array q = Random({batch, key_heads * shared, queries, size});
    const Array k = Random({batch, key_heads, keys, size}),
                v = Random({batch, key_heads, keys, values});
    const Array pk = past == 0 ? Array() : Random({batch, key_heads, past, size});
    const Array pv = past == 0 ? Array() : Random({batch, key_heads, past, values});
    const Array mask = masked ? Random({batch, 1, queries, all}) : Array();
    Array expected(DType::kFloat64, {batch, key_heads * shared, queries, values});
    reference::ForEach({batch, key_heads * shared, queries}, [&](const Dims& at) {
      const auto key_at = [&](const Array& before, const Array& now, int64_t j, int64_t e) {
        const int64_t head = at[1] / shared;
        return j < past ? before[{at[0], head, j, e}] : now[{at[0], head, j - past, e}];
      };
      std::vector<Number> weights;
      Number sum = 0;
      for (int64_t j = 0; j < all; ++j) {
        Number score = 0;
        for (int64_t e = 0; e < size; ++e)
          score += q[{at[0], at[1], at[2], e}] * key_at(pk, k, j, e);
        score *= scale != 0 ? Number{scale} : 1 / std::sqrt(static_cast<Number>(size));
        if (cap != 0) score = cap * std::tanh(score / cap);
        if (masked) score += mask[{at[0], 0, at[2], j}];
        weights.push_back(causal && j > at[2] + past ? 0 : std::exp(score));
        sum += weights.back();
      }
      for (int64_t j = 0; j < all; ++j) {
        for (int64_t e = 0; e < values; ++e) {
          expected[{at[0], at[1], at[2], e}] +=
              weights[static_cast<size_t>(j)] / sum * key_at(pv, v, j, e);
        }
      }
    });
    transform::NodeSpec spec{.op = "Attention"};
    if (causal) spec.attributes.push_back({"is_causal", int64_t{1}});
    if (cap != 0) spec.attributes.push_back({"softcap", cap});
    if (scale != 0) spec.attributes.push_back({"scale", scale});
    ExpectNear(Run(spec, {q, k, v, mask, pk, pv}), expected);
  }
}

// Each element of the image is added, times the kernel, to where the kernel lies around it.
TEST_F(Formulas, ConvTranspose) {
  for (int round = 0; round < 80 && !HasFatalFailure(); ++round) {
    const auto axes = static_cast<size_t>(Int(1, 3));
    const int64_t groups = Int(1, 2), in = Int(1, 2), out = Int(1, 2);
    IntList kernel, strides, dilations, pads(2 * axes), more;
    Dims x_dims = {Int(1, 2), groups * in}, w_dims = {groups * in, out};
    Dims y_dims = {x_dims[0], groups * out};
    for (size_t i = 0; i < axes; ++i) {
      kernel.push_back(Int(1, 3));
      strides.push_back(Int(1, 3));
      dilations.push_back(Int(1, 2));
      more.push_back(Int(0, strides[i] - 1));
      pads[i] = Int(0, kernel[i] - 1);
      pads[i + axes] = Int(0, kernel[i] - 1);
      x_dims.push_back(Int(2, 4));
      w_dims.push_back(kernel[i]);
      y_dims.push_back((x_dims[i + 2] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 -
                       pads[i] - pads[i + axes] + more[i]);
    }
    if (*std::min_element(y_dims.begin(), y_dims.end()) < 1) continue;
    const Array x = Random(x_dims), w = Random(w_dims), bias = Random({groups * out});
    Array expected(DType::kFloat64, y_dims);
    reference::ForEach(
        y_dims, [&](const Dims& at) { expected[at] = bias.data[static_cast<size_t>(at[1])]; });
    reference::ForEach(x_dims, [&](const Dims& from) {
      reference::ForEach(Dims(w_dims.begin() + 1, w_dims.end()), [&](const Dims& tap) {
        Dims at = {from[0], from[1] / in * out + tap[0]}, weight = {from[1]};
        weight.insert(weight.end(), tap.begin(), tap.end());
        for (size_t i = 0; i < axes; ++i) {
          at.push_back(from[i + 2] * strides[i] + tap[i + 1] * dilations[i] - pads[i]);
          if (at.back() < 0 || at.back() >= y_dims[i + 2]) return;
        }
        expected[at] += x[from] * w[weight];
      });
    });
    ExpectNear(Run({.op = "ConvTranspose",
                    .attributes = {{"strides", strides},
                                   {"dilations", dilations},
                                   {"pads", pads},
                                   {"output_padding", more},
                                   {"group", groups}}},
                   {x, w, bias}),
               expected);
  }
}

TEST_F(Formulas, LocalResponse) {
  for (int64_t size = 1; size <= 6; ++size) {
    const Array x = Random({2, 5, 3});
    Array expected = x;
    reference::ForEach(x.dims, [&](const Dims& at) {
      Number squares = 0;
      for (int64_t c = at[1] - (size - 1) / 2; c <= at[1] + size / 2; ++c) {
        if (c >= 0 && c < 5) squares += x[{at[0], c, at[2]}] * x[{at[0], c, at[2]}];
      }
      expected[at] /= std::pow(1 + Number{0.5} / static_cast<Number>(size) * squares, Number{0.75});
    });
    ExpectNear(Run({.op = "LRN", .attributes = {{"size", size}, {"alpha", 0.5}}}, {x}), expected);
  }
}

// From half a spectrum of any length back to the signal, and from a signal cut or padded.
TEST_F(Formulas, FourierThereAndBack) {
  const auto length = [](int64_t n) {
    Array array(DType::kInt64, {});
    array.data = {static_cast<Number>(n)};
    return array;
  };
  for (int64_t n = 1; n <= 12 && !HasFatalFailure(); ++n) {
    const Array x = Random({2, n, 1});
    const transform::Attributes half = {{"onesided", int64_t{1}}};
    const transform::Attributes back = {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}};
    const Array bins = Run({.op = "DFT", .attributes = half}, {x});
    EXPECT_EQ(bins.dims, (Dims{2, n / 2 + 1, 2}));
    ExpectNear(Run({.op = "DFT", .attributes = back}, {bins, length(n)}), x);
    for (int64_t m : {n / 2 + 1, n + 3}) {
      Array fitted(DType::kFloat64, {2, m, 1});
      reference::ForEach(fitted.dims, [&](const Dims& at) { fitted[at] = at[1] < n ? x[at] : 0; });
      ExpectNear(Run({.op = "DFT"}, {x, length(m)}), Run({.op = "DFT"}, {fitted}));
    }
  }
}

// Frame f of an STFT is the DFT of the window times what begins at f · step.
TEST_F(Formulas, FramesOfASignal) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round) {
    const int64_t n = Int(6, 20), length = Int(1, 6), step = Int(1, 4);
    const Array x = Random({1, n, 1}), window = Random({length});
    Array hop(DType::kInt64, {});
    hop.data = {static_cast<Number>(step)};
    const Array frames = Run({.op = "STFT"}, {x, hop, window});
    ASSERT_EQ(frames.dims, (Dims{1, (n - length) / step + 1, length / 2 + 1, 2}));
    for (int64_t f = 0; f < frames.dims[1]; ++f) {
      Array frame(DType::kFloat64, {1, length, 1});
      for (int64_t i = 0; i < length; ++i) {
        frame[{0, i, 0}] = x[{0, f * step + i, 0}] * window.data[static_cast<size_t>(i)];
      }
      const Array bins = Run({.op = "DFT", .attributes = {{"onesided", int64_t{1}}}}, {frame});
      reference::ForEach(bins.dims, [&](const Dims& at) {
        ASSERT_NEAR(static_cast<double>(frames[{0, f, at[1], at[2]}]),
                    static_cast<double>(bins[at]), 1e-13);
      });
    }
  }
}

// Pairs are turned by their angle.
TEST_F(Formulas, RotaryEmbedding) {
  for (const bool interleaved : {false, true}) {
    for (int64_t turned : {0, 2, 4}) {
      const Array x = Random({2, 3, 4, 6}), angles = Random({2, 4, turned == 0 ? 3 : turned / 2});
      Array cosines = angles, sines = angles, expected = x;
      for (Number& a : cosines.data) a = std::cos(a);
      for (Number& a : sines.data) a = std::sin(a);
      const int64_t pairs = angles.dims[2];
      reference::ForEach({2, 3, 4, pairs}, [&](const Dims& at) {
        Dims first = at, second = at;
        first[3] = interleaved ? 2 * at[3] : at[3];
        second[3] = interleaved ? 2 * at[3] + 1 : at[3] + pairs;
        const Number angle = angles[{at[0], at[2], at[3]}];
        expected[first] = std::cos(angle) * x[first] - std::sin(angle) * x[second];
        expected[second] = std::sin(angle) * x[first] + std::cos(angle) * x[second];
      });
      ExpectNear(Run({.op = "RotaryEmbedding",
                      .attributes = {{"interleaved", int64_t{interleaved}},
                                     {"rotary_embedding_dim", turned}}},
                     {x, cosines, sines}),
                 expected);
    }
  }
}

TEST_F(Formulas, BlocksOfPixels) {
  for (int64_t b = 1; b <= 3; ++b) {
    for (const char* mode : {"DCR", "CRD"}) {
      const int64_t channels = 2;
      const Array x = Random({2, channels * b * b, 2, 3});
      Array expected(DType::kFloat64, {2, channels, 2 * b, 3 * b});
      reference::ForEach(expected.dims, [&](const Dims& at) {
        const int64_t place = at[2] % b * b + at[3] % b;
        const int64_t channel = mode[0] == 'D' ? place * channels + at[1] : at[1] * b * b + place;
        expected[at] = x[{at[0], channel, at[2] / b, at[3] / b}];
      });
      const Array y =
          Run({.op = "DepthToSpace", .attributes = {{"blocksize", b}, {"mode", std::string(mode)}}},
              {x});
      ExpectNear(y, expected);
      if (mode[0] == 'D') {
        ExpectNear(Run({.op = "SpaceToDepth", .attributes = {{"blocksize", b}}}, {y}), x);
      }
    }
  }
}

// The middle of what is too long, and zeros around what is too short.
TEST_F(Formulas, CenterCropPad) {
  for (int64_t n = 1; n <= 6; ++n) {
    for (int64_t wanted = 1; wanted <= 8; ++wanted) {
      const Array x = Random({n, 2});
      Array size(DType::kInt64, {1}), expected(DType::kFloat64, {wanted, 2});
      size.data = {static_cast<Number>(wanted)};
      const int64_t shift = (n - wanted) / 2;
      reference::ForEach(expected.dims, [&](const Dims& at) {
        const int64_t from = at[0] + shift;
        expected[at] = from >= 0 && from < n ? x[{from, at[1]}] : 0;
      });
      ExpectNear(Run({.op = "CenterCropPad", .attributes = {{"axes", IntList{0}}}}, {x, size}),
                 expected);
    }
  }
}

}  // namespace
}  // namespace hr::ops
