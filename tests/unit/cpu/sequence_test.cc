// ReverseSequence and TensorScatter.
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class SequenceTest : public KernelTest {};

TEST_P(SequenceTest, Reverses) {
  for (int round = 0; round < Rounds(30); ++round) {
    Dims dims = {RandomInt(1, 6), RandomInt(1, 6)};
    for (int64_t i = RandomInt(0, 2); i > 0; --i) dims.push_back(RandomInt(0, 4));
    const int64_t time = RandomInt(0, 1);
    const int64_t batch = dims[static_cast<size_t>(1 - time)];
    std::vector<int64_t> lengths;
    for (int64_t n = 0; n < batch; ++n) {
      lengths.push_back(RandomInt(0, dims[static_cast<size_t>(time)]));
    }
    OneNodeRun run("ReverseSequence");
    round % 2 == 0 ? run.In(dims, Random<float>(ElementCount(dims)))
                   : run.In(dims, Random<int8_t>(ElementCount(dims)));
    run.In<int64_t>({batch}, lengths).With("time_axis", time).With("batch_axis", 1 - time);
    run.Check(0, 0);
  }
}

TEST_P(SequenceTest, ReverseRefusesLengths) {
  OneNodeRun run("ReverseSequence");
  run.In<float>({2, 1}, {1, 2}).In<int64_t>({1}, {3});
  ExpectFailure(run, "lengths from 0 to the 2 steps of its input, got 3 for sequence 0");
}

TEST_P(SequenceTest, Scatters) {
  for (int round = 0; round < Rounds(40); ++round) {
    Dims cache = {RandomInt(1, 3), RandomInt(1, 4), RandomInt(1, 5), RandomInt(1, 4)};
    const int64_t axis = RandomInt(1, 3);
    const auto at = static_cast<size_t>(axis);
    Dims update = cache;
    update[at] = RandomInt(0, cache[at]);
    const bool circular = RandomInt(0, 1) == 1;
    std::vector<int64_t> starts;
    for (int64_t n = 0; n < cache[0]; ++n) {
      starts.push_back(circular ? RandomInt(-9, 9) : RandomInt(0, cache[at] - update[at]));
    }
    const bool given = RandomInt(0, 3) > 0;
    for (const bool grad : {false, true}) {
      OneNodeRun run(grad ? "TensorScatterGrad" : "TensorScatter", grad ? "headrace.grad" : "");
      run.In(cache, Random<double>(ElementCount(cache)));
      run.In(update, Random<double>(ElementCount(update)));
      if (given) run.In<int64_t>({cache[0]}, starts);
      run.With("axis", axis - (round % 2 == 0 ? 4 : 0));
      run.With("mode", std::string(circular ? "circular" : "linear")).Check(0, 0);
    }
  }
}

TEST_P(SequenceTest, ScatterRefusesPlacesOutside) {
  for (int64_t start : {-1, 2}) {
    OneNodeRun run("TensorScatter");
    run.In<float>({1, 3, 1}, {1, 2, 3}).In<float>({1, 2, 1}, {4, 5}).In<int64_t>({1}, {start});
    ExpectFailure(run, Cat("writes 2 positions from ", start, " on for sequence 0"));
  }
}

TEST_P(SequenceTest, NothingToDo) {
  OneNodeRun empty("TensorScatter");
  empty.In<float>({2, 0, 1}, {}).In<float>({2, 0, 1}, {}).In<int64_t>({2}, {0, 5});
  empty.With("mode", std::string("circular"));
  EXPECT_EQ(empty.MustRun()[0].elements(), 0);
  OneNodeRun reverse("ReverseSequence");
  EXPECT_EQ(reverse.In<float>({2, 1, 0}, {}).In<int64_t>({1}, {2}).MustRun()[0].elements(), 0);
}

HR_KERNEL_TESTS(SequenceTest);

}  // namespace
}  // namespace hr::cpu
