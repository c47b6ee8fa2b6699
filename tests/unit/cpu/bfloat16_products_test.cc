// Nodes whose operands are of bfloat16, judged by exact arithmetic.
#include <algorithm>
#include <random>

#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "runtime/base/half.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

// A result is rounded once, after sums in float32.
constexpr double kRounding = 0x1p-8 + 1e-5;

class Bfloat16Nodes : public testing::Test {
 protected:
  Tensor Numbers(Dims dims) {
    Tensor tensor = Tensor::Create(SystemAllocator(), DType::kBfloat16, std::move(dims)).value();
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::generate_n(tensor.as<uint16_t>(), tensor.elements(),
                    [&] { return FloatToBfloat16(uniform(engine_)); });
    return tensor;
  }
  static void Check(OneNodeRun& run, std::string_view kernel = "gemm_bfloat16") {
    run.Check(kRounding, 1e-4);
    const bool native = run.Describe().find(kernel) != std::string::npos;
    EXPECT_EQ(native, KernelsForBfloat16() != nullptr) << run.Describe();
  }

  std::mt19937 engine_{3};
};

TEST_F(Bfloat16Nodes, MatMulOfAnyRank) {
  const std::pair<Dims, Dims> cases[] = {
      {{5, 7}, {7, 33}},
      {{40, 64}, {64, 70}},
      {{7}, {7, 4}},
      {{3, 7}, {7}},
      {{2, 3, 40, 9}, {9, 35}},
      {{2, 3, 9, 31}, {2, 3, 31, 10}},
      {{4, 1, 3, 8}, {5, 8, 2}},
      {{9, 6}, {3, 6, 40}},
      {{20, 1, 33}, {20, 33, 1}},
      {{3, 0}, {4, 0, 5}},
  };
  for (const auto& [a, b] : cases) {
    for (bool constant : {false, true}) {
      for (int threads : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << "a " << testing::PrintToString(a) << ", b " << testing::PrintToString(b));
        OneNodeRun run("MatMul");
        run.Threads(threads).In(Numbers(a));
        constant ? run.Constant(Numbers(b)) : run.In(Numbers(b));
        Check(run);
      }
    }
  }
}

TEST_F(Bfloat16Nodes, GemmWithEachBias) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      for (const Dims& bias : {Dims{}, Dims{1}, Dims{50}, Dims{17, 1}, Dims{1, 50}, Dims{17, 50}}) {
        OneNodeRun run("Gemm");
        run.Threads(2).With("alpha", 0.75).With("beta", -1.5);
        run.With("transA", int64_t{transpose_a}).With("transB", int64_t{transpose_b});
        run.In(Numbers(transpose_a ? Dims{35, 17} : Dims{17, 35}));
        run.In(Numbers(transpose_b ? Dims{50, 35} : Dims{35, 50}));
        run.In(Numbers(bias));
        Check(run);
      }
    }
  }
}

struct ConvCase {
  Dims x, w;
  int64_t groups = 1;
  std::vector<int64_t> strides, pads, dilations;
};

TEST_F(Bfloat16Nodes, Convolutions) {
  const ConvCase cases[] = {
      {{2, 33, 9, 15}, {18, 33, 1, 1}, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},  // two blocks of pixels
      {{1, 33, 9, 15}, {18, 33, 1, 1}, 1, {2, 1}, {0, 0, 0, 0}, {1, 1}},
      {{3, 7, 12, 13}, {40, 7, 3, 3}, 1, {1, 1}, {1, 2, 0, 1}, {1, 1}},
      {{2, 14, 11, 9}, {34, 7, 3, 3}, 2, {2, 1}, {1, 1, 1, 1}, {1, 2}},
      {{2, 40, 21}, {16, 40, 3}, 1, {1}, {1, 1}, {1}},
      {{1, 6, 5, 6, 7}, {17, 6, 2, 3, 3}, 1, {1, 1, 1}, {1, 0, 1, 0, 1, 0}, {1, 1, 1}},
  };
  for (const ConvCase& c : cases) {
    for (int threads : {1, 3}) {
      for (bool bias : {false, true}) {
        SCOPED_TRACE(testing::Message() << "x " << testing::PrintToString(c.x) << ", w "
                                        << testing::PrintToString(c.w));
        OneNodeRun run("Conv");
        run.Threads(threads).With("group", c.groups).With("strides", c.strides);
        run.With("pads", c.pads).With("dilations", c.dilations).In(Numbers(c.x)).In(Numbers(c.w));
        if (bias) run.In(Numbers({c.w[0]}));
        Check(run, "conv_bfloat16");
      }
    }
  }
}

TEST_F(Bfloat16Nodes, ConvolutionsOfWeightsThatArePackedOnce) {
  for (int64_t stride : {1, 2}) {
    OneNodeRun run("Conv");
    run.Threads(2).With("pads", std::vector<int64_t>{1, 1, 1, 1});
    run.With("strides", std::vector<int64_t>{stride, stride});
    run.In(Numbers({2, 7, 9, 8})).Constant(Numbers({40, 7, 3, 3}));
    Check(run, "conv_bfloat16");
  }
}

TEST_F(Bfloat16Nodes, GradientsOfConvolutions) {
  const std::vector<int64_t> pads = {1, 0, 0, 1};
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{1, 1}, {2, 3}}) {
    for (int threads : {1, 3}) {
      const Dims x = {3, 36, 8, 10}, w = {40, 18, 3, 2};
      const Dims dy = {3, 40, (8 + 1 - 3) / strides[0] + 1, (10 + 1 - 2) / strides[1] + 1};
      for (const bool of_weight : {false, true}) {
        OneNodeRun run(of_weight ? "ConvGradWeight" : "ConvGradInput", "headrace.grad");
        run.Threads(threads).With("group", int64_t{2}).With("strides", strides).With("pads", pads);
        run.In(Numbers(dy)).In(Numbers(of_weight ? x : w)).In(Numbers(of_weight ? w : x));
        Check(run, of_weight ? "conv_grad_weight_bfloat16" : "conv_grad_input_bfloat16");
      }
    }
  }
}

}  // namespace
}  // namespace hr::cpu
