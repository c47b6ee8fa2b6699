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
  static void Check(OneNodeRun& run) {
    run.Check(kRounding, 1e-4);
    const bool native = run.Describe().find("gemm_bfloat16") != std::string::npos;
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

}  // namespace
}  // namespace hr::cpu
