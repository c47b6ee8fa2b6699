// Nodes that oneDNN runs, from the operator to the result, judged by exact arithmetic.
#include <random>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/kernels/gemm.h"
#include "backends/cpu/onednn/functions.h"
#include "tests/leaks.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

// Products are oneDNN's only where there is no matrix unit.
[[maybe_unused]] const bool without_unit = (DisableMatrixUnit(), true);
// oneDNN keeps the primitives that it has made.
[[maybe_unused]] const bool keeps_objects = library_keeps_objects = true;

std::vector<float> Values(const Dims& dims) {
  std::mt19937 engine(static_cast<uint32_t>(ElementCount(dims)));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(ElementCount(dims)));
  for (float& value : values) value = uniform(engine);
  return values;
}

void Fed(OneNodeRun& run, const Dims& dims) { run.In<float>(dims, Values(dims)); }
void Known(OneNodeRun& run, const Dims& dims) { run.Constant<float>(dims, Values(dims)); }

// The kernel is oneDNN's, if there is a oneDNN.
void ExpectKernel(OneNodeRun& run, const char* kernel) {
  const std::string text = run.Describe();
  EXPECT_EQ(text.find(kernel) != std::string::npos, onednn::OneDnn().ok()) << text;
  EXPECT_EQ(text.find("_onednn") != std::string::npos, onednn::OneDnn().ok()) << text;
}

// The second run agrees with the reference.
void Check(OneNodeRun& run, const char* kernel) {
  run.Threads(2);
  run.MustRun();
  run.Check(2e-5, 2e-5);
  ExpectKernel(run, kernel);
}

using Node = void (*)(OneNodeRun&, const Dims&);

// So few channels that copies to another layout would take longer.
const Dims kImages = {1, 16, 20, 20}, kOut = {1, 16, 20, 20}, kWeights = {16, 16, 3, 3};

TEST(OneDnnNodes, Conv) {
  for (Node weights : {Fed, Known}) {
    OneNodeRun run("Conv");  // of a kernel for which there is no Winograd's algorithm
    Fed(run, kImages), weights(run, {16, 16, 2, 2}), Fed(run, {16});
    Check(run.With("pads", std::vector<int64_t>{1, 1, 0, 0}), "\"conv_onednn\"");
  }
}

TEST(OneDnnNodes, ConvGradients) {
  for (Node weights : {Fed, Known}) {
    OneNodeRun run("ConvGradInput", "headrace.grad");
    Fed(run, kOut), weights(run, kWeights), Fed(run, kImages);
    Check(run.With("pads", std::vector<int64_t>{1, 1, 1, 1}), "\"conv_grad_input_onednn\"");
  }
  OneNodeRun run("ConvGradWeight", "headrace.grad");
  Fed(run, kOut), Fed(run, kImages), Fed(run, kWeights);
  Check(run.With("pads", std::vector<int64_t>{1, 1, 1, 1}), "\"conv_grad_weight_onednn\"");
}

// As large as oneDNN's products are, too large for the exact evaluator.
void CheckProduct(OneNodeRun& run, const GemmShape& shape, const Dims& a, const Dims& b,
                  const char* kernel) {
  const auto in = Values(a), weights = Values(b);
  const std::vector<double> x(in.begin(), in.end()), w(weights.begin(), weights.end());
  std::vector<double> want(static_cast<size_t>(shape.m * shape.n));
  std::vector<char> scratch(GemmScratchBytes<double>(shape, 1));
  Gemm<double>(Lease(), shape, x.data(), w.data(), want.data(), {}, 1, scratch.data());
  for (int time = 0; time < 2; ++time) {
    const std::vector<float> got = ValuesOf<float>(run.Threads(2).MustRun()[0]);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << "at " << i;
  }
  ExpectKernel(run, kernel);
}

TEST(OneDnnNodes, Products) {
  const Dims a = {200, 500}, b = {400, 500}, rows = {4, 50, 500}, columns = {500, 400};
  for (Node weights : {Fed, Known}) {
    OneNodeRun gemm("Gemm");
    Fed(gemm, a), weights(gemm, b), gemm.In<float>({400}, std::vector<float>(400, 0.0f));
    CheckProduct(gemm.With("transB", int64_t{1}), GemmShape::Dense(200, 400, 500, false, true), a,
                 b, "\"gemm_onednn\"");
    // Matrices that share their right-hand side.
    OneNodeRun matmul("MatMul");
    Fed(matmul, rows), weights(matmul, columns);
    CheckProduct(matmul, GemmShape::Dense(200, 400, 500), rows, columns, "\"matmul_onednn\"");
  }
}

}  // namespace
}  // namespace hr::cpu
