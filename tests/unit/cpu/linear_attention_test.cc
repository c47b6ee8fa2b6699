// LinearAttention with its gradient, against the reference.
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class LinearAttentionTest : public KernelTest {
 protected:
  template <typename T>
  void Check(bool decay, bool beta) {
    const int64_t heads = RandomInt(1, 3), group = RandomInt(1, 3);
    const int64_t n = RandomInt(1, 3), steps = RandomInt(0, 11), keys = RandomInt(1, 9);
    const int64_t values = RandomInt(1, 19);
    const Dims q = {n, steps, heads * group * keys}, k = {n, steps, heads * keys};
    const Dims v = {n, steps, heads * values}, past = {n, heads, keys, values};
    const Dims decays = {n, steps, RandomInt(0, 1) == 0 ? heads : heads * keys};
    const Dims betas = {n, steps, RandomInt(0, 1) == 0 ? heads : 1};
    const bool given = RandomInt(0, 1) == 1;
    const int threads = static_cast<int>(RandomInt(1, 3));
    const std::string rule = decay ? (beta ? "gated_delta" : "gated") : beta ? "delta" : "linear";
    for (const bool grad : {false, true}) {
      OneNodeRun run(grad ? "LinearAttentionGrad" : "LinearAttention", grad ? "headrace.grad" : "");
      const auto add = [&](bool there, const Dims& dims) {
        there ? run.In(dims, Random<T>(ElementCount(dims))) : run.Omit();
      };
      for (const Dims& dims : {q, k, v}) add(true, dims);
      add(given, past);
      add(decay, decays);
      add(beta, betas);
      const int64_t which = RandomInt(1, 3);
      if (grad) add((which & 1) != 0, {n, steps, heads * group * values});
      if (grad) add((which & 2) != 0, past);
      run.With("q_num_heads", heads * group).With("kv_num_heads", heads);
      run.With("update_rule", rule).Outputs(grad ? 6 : static_cast<size_t>(RandomInt(1, 2)));
      const double error = sizeof(T) == 4 ? 1e-3 : 1e-11;
      run.Threads(threads).Check(error, error);
      if (HasFailure()) return;
    }
  }
};

TEST_P(LinearAttentionTest, EveryRule) {
  for (int round = 0; round < Rounds(20) && !HasFailure(); ++round) {
    for (const bool decay : {false, true}) {
      for (const bool beta : {false, true}) {
        Check<float>(decay, beta);
        Check<double>(decay, beta);
      }
    }
  }
}

// 16-bit floats are computed in float32, with a state of either type.
TEST_P(LinearAttentionTest, Halves) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const auto half = [&](Dims dims) {
      reference::Array array(dtype, dims);
      const auto values = Random<float>(ElementCount(dims));
      std::copy(values.begin(), values.end(), array.data.begin());
      return reference::ToTensor(array);
    };
    for (const bool wide : {false, true}) {
      OneNodeRun run("LinearAttention");
      run.In(half({2, 3, 4})).In(half({2, 3, 4})).In(half({2, 3, 6}));
      wide ? run.In<float>({2, 2, 2, 3}, Random<float>(24)) : run.In(half({2, 2, 2, 3}));
      run.With("q_num_heads", int64_t{2}).With("kv_num_heads", int64_t{2});
      run.With("update_rule", std::string("linear")).Outputs(2);
      run.Check(dtype == DType::kFloat16 ? 1e-3 : 8e-3, 1e-6);
    }
  }
}

HR_KERNEL_TESTS(LinearAttentionTest);

}  // namespace
}  // namespace hr::cpu
