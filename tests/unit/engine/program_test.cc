#include "runtime/engine/program.h"

#include <gtest/gtest.h>

#include <functional>

namespace hr::engine {
namespace {

std::unique_ptr<Kernel> Make(std::function<Status(Operands)> body) {
  return MakeKernel("function",
                    [body = std::move(body)](const Operands& operands, const LaunchContext&) {
                      return body(operands);
                    });
}

int& Int(void* memory) { return *static_cast<int*>(memory); }
int Int(const void* memory) { return *static_cast<const int*>(memory); }

// Slots: weights, input, output. Twice the weights is kept; output = that + input.
class Preparations : public testing::Test {
 protected:
  void SetUp() override {
    ProgramBuilder builder;
    const BufferIndex weights = builder.AddSlot(0), input = builder.AddSlot(1);
    const BufferIndex output = builder.AddSlot(2);
    const BufferIndex kept = builder.AddPreparation({.kernel = Make([this](Operands p) -> Status {
                                                       ++prepared_;
                                                       if (fail_) return Unavailable("not now");
                                                       Int(p.scratch()) = 2 * Int(p.input(0));
                                                       Int(p.output(0)) = Int(p.scratch());
                                                       return {};
                                                     }),
                                                     .from = weights,
                                                     .bytes = sizeof(int),
                                                     .format = "twice",
                                                     .scratch_bytes = 64,
                                                     .node = "product"});
    builder.AddStep({.kernel = Make([](Operands p) -> Status {
                       Int(p.output(0)) = Int(p.input(0)) + Int(p.input(1));
                       return {};
                     }),
                     .buffers = {.inputs = {kept, input}, .outputs = {output}}});
    program_ = builder.Build(SystemAllocator(), {.slot_count = 3}).value();
  }

  std::unique_ptr<Invocation> Instantiate() {
    auto invocation = program_->Instantiate().value();
    invocation->Bind(0, &weights_);
    invocation->Bind(1, &input_);
    invocation->Bind(2, &output_);
    return invocation;
  }

  Status Run(Invocation& invocation, uint64_t version) {
    return invocation.Run({.threads = lease_, .variables_version = version});
  }

  const Lease lease_;
  int weights_ = 10, input_ = 1, output_ = 0;
  int prepared_ = 0;
  bool fail_ = false;
  std::unique_ptr<Program> program_;
};

TEST_F(Preparations, AreDoneOnceForAllInvocations) {
  auto first = Instantiate(), second = Instantiate();
  for (Invocation* invocation : {first.get(), second.get(), first.get()}) {
    ASSERT_TRUE(Run(*invocation, 0).ok());
    EXPECT_EQ(output_, 21);
  }
  EXPECT_EQ(prepared_, 1);
}

TEST_F(Preparations, AreDoneAgainForAnotherVersion) {
  auto invocation = Instantiate();
  ASSERT_TRUE(Run(*invocation, 0).ok());
  weights_ = 20;
  ASSERT_TRUE(Run(*invocation, 7).ok());
  EXPECT_EQ(output_, 41);
  ASSERT_TRUE(Run(*invocation, 7).ok());
  EXPECT_EQ(prepared_, 2);
}

TEST_F(Preparations, AreTriedAgainAfterAFailure) {
  auto invocation = Instantiate();
  fail_ = true;
  Status status = Run(*invocation, 0);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.node(), "product");
  fail_ = false;
  ASSERT_TRUE(Run(*invocation, 0).ok());
  EXPECT_EQ(output_, 21);
}

// Notes what is given back.
class NotedBuffer final : public Buffer {
 public:
  explicit NotedBuffer(std::span<std::byte> memory)
      : Buffer(memory.data(), memory.size(), DeviceId{}, true) {}
  void Forget(size_t offset, size_t bytes) const override { given_back.push_back({offset, bytes}); }
  mutable std::vector<std::pair<size_t, size_t>> given_back;
};

// Gives back a variable's.
struct NotedVariable final : VariableMemory {
  explicit NotedVariable(const Tensor& variable) : variable(variable) {}
  void NotReadAgain(const void* data) const override {
    EXPECT_EQ(data, variable.data());
    variable.Forget();
  }
  Tensor variable;
};

// Of the constant or variable that two preparations take, and perhaps the step, too.
std::vector<std::pair<size_t, size_t>> GivenBack(bool is_constant, bool step_reads) {
  alignas(64) int numbers[32] = {};
  const auto buffer = std::make_shared<NotedBuffer>(std::as_writable_bytes(std::span(numbers)));
  const Tensor source = Tensor::View(buffer, 64, DType::kInt32, {4}).value();
  const NotedVariable variable(source);
  ProgramBuilder builder;
  const BufferIndex slot = builder.AddSlot(0), output = builder.AddSlot(1);
  StepBuffers buffers{.outputs = {output}};
  for (const size_t scratch : {640, 1280}) {
    buffers.inputs.push_back(builder.AddPreparation({.kernel = Make([](Operands p) -> Status {
                                                       Int(p.scratch()) = Int(p.input(0));
                                                       Int(p.output(0)) = Int(p.scratch());
                                                       return {};
                                                     }),
                                                     .from = slot,
                                                     .bytes = sizeof(int),
                                                     .format = Cat(scratch),
                                                     .scratch_bytes = scratch,
                                                     .source = is_constant ? source : Tensor()}));
  }
  if (step_reads) buffers.inputs.push_back(builder.AddView(slot, 8));
  builder.AddStep({.kernel = Make([](Operands) -> Status { return {}; }), .buffers = buffers});
  const auto program = builder.Build(SystemAllocator(), {.slot_count = 2}).value();
  // One after the other they take the same memory.
  EXPECT_NE(program->Describe().find("\"arena_bytes\":1280"), std::string::npos);
  const auto invocation = program->Instantiate().value();
  int result = 0;
  invocation->Bind(0, source.data());
  invocation->Bind(1, &result);
  const Lease lease;
  const RunContext run{.threads = lease, .variables = is_constant ? nullptr : &variable};
  EXPECT_TRUE(invocation->Run(run).ok());
  EXPECT_TRUE(invocation->Run(run).ok());
  return buffer->given_back;
}

TEST(Preparation, GivesTheMemoryOfItsSourceBack) {
  const std::pair<size_t, size_t> all{64, 16};
  for (const bool is_constant : {true, false}) {
    EXPECT_EQ(GivenBack(is_constant, false), (std::vector{all, all}));
    EXPECT_TRUE(GivenBack(is_constant, true).empty());
  }
}

// output = kept + scratch of the arena, whose size the program states; what is kept is `factor`
// times the weights.
struct Sized {
  std::shared_ptr<PreparedPool> pool = std::make_shared<PreparedPool>();
  int prepared = 0;

  std::unique_ptr<Program> Make(size_t scratch_bytes, int factor, int added) {
    ProgramBuilder builder;
    const BufferIndex weights = builder.AddSlot(0), output = builder.AddSlot(1);
    const BufferIndex scratch = builder.AddArena(scratch_bytes);
    const BufferIndex kept = builder.AddPreparation({.kernel = Make([=, this](Operands p) {
                                                       ++prepared;
                                                       Int(p.output(0)) = factor * Int(p.input(0));
                                                       return Status();
                                                     }),
                                                     .from = weights,
                                                     .bytes = sizeof(int),
                                                     .format = Cat("times ", factor)});
    builder.AddStep({.kernel = Make([=](Operands p) {
                       Int(p.scratch()) = added;
                       Int(p.output(0)) = Int(p.input(0)) + Int(p.scratch());
                       return Status();
                     }),
                     .buffers = {.inputs = {kept}, .outputs = {output}, .scratch = scratch}});
    return builder.Build(SystemAllocator(), {.slot_count = 2, .pool = pool}).value();
  }
  static std::unique_ptr<Kernel> Make(std::function<Status(Operands)> body) {
    return engine::Make(std::move(body));
  }
};

TEST(SwitchTo, KeepsWhatIsBoundAndSharesWhatIsPreparedAlike) {
  Sized sized;
  const auto large = sized.Make(640, 2, 1), small = sized.Make(64, 2, 5);
  const auto other = sized.Make(1280, 3, 7);
  const Lease lease;
  int weights = 10, output = 0;
  auto invocation = large->Instantiate().value();
  invocation->Bind(0, &weights);
  invocation->Bind(1, &output);
  const auto run = [&](Executable& program, int wanted, int prepared) {
    ASSERT_TRUE(invocation->SwitchTo(program).ok());
    ASSERT_TRUE(invocation->Run({.threads = lease}).ok());
    EXPECT_EQ(output, wanted);
    EXPECT_EQ(sized.prepared, prepared);
  };
  run(*large, 21, 1);
  run(*small, 25, 1);  // the same memory, made once
  run(*other, 37, 2);  // of another format, and in a larger arena
  run(*large, 21, 2);
}

// Slots: input, output. The first step writes `between`, the second one reads `read` instead.
struct Checked {
  ProgramBuilder builder;
  BufferIndex input = builder.AddSlot(0), output = builder.AddSlot(1);
  BufferIndex between = builder.AddArena(64), other = builder.AddArena(64);

  Result<std::unique_ptr<Program>> Build(BufferIndex read, bool check) {
    const auto copy = [](Operands p) -> Status {
      Int(p.output(0)) = Int(p.input(0));
      return {};
    };
    builder.AddStep({.kernel = Make(copy), .buffers = {.inputs = {input}, .outputs = {between}}});
    builder.AddStep({.kernel = Make(copy),
                     .buffers = {.inputs = {read}, .outputs = {output}},
                     .node = "reader"});
    return builder.Build(SystemAllocator(),
                         {.slot_count = 2, .first_output_slot = 1, .check_memory = check});
  }
};

TEST(MemoryCheck, RefusesAReadOfWhatNobodyWrote) {
  Checked wrong;
  const auto refused = wrong.Build(wrong.other, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInternal);
  EXPECT_EQ(refused.status().node(), "reader");
  Checked early;  // an output, before anything is in it
  EXPECT_FALSE(early.Build(early.output, true).ok());
  Checked unchecked, right;
  EXPECT_TRUE(unchecked.Build(unchecked.other, false).ok());
  EXPECT_TRUE(right.Build(right.between, true).ok());
}

// A kernel that reads memory which it did not name finds a pattern there.
TEST(MemoryCheck, FillsWhatIsDead) {
  ProgramBuilder builder;
  const BufferIndex output = builder.AddSlot(0), first = builder.AddArena(64);
  void* hidden = nullptr;
  builder.AddStep({.kernel = Make([&](Operands p) -> Status {
                     hidden = p.output(0);
                     EXPECT_EQ(Int(hidden), -1);
                     Int(hidden) = 5;
                     return {};
                   }),
                   .buffers = {.outputs = {first}}});
  builder.AddStep({.kernel = Make([&](Operands p) -> Status {
                     Int(p.output(0)) = Int(hidden);
                     return {};
                   }),
                   .buffers = {.outputs = {output}}});
  const auto program =
      builder.Build(SystemAllocator(), {.slot_count = 1, .check_memory = true}).value();
  int out = 0;
  const Lease lease;
  auto invocation = program->Instantiate().value();
  invocation->Bind(0, &out);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(invocation->Run({.threads = lease}).ok());
    EXPECT_EQ(out, -1);
  }
}

// Two copies of the input, from which an output is made.
class InPlace : public testing::TestWithParam<bool> {
 protected:
  InPlace() {
    for (BufferIndex to : {a_, b_}) Copy(input_, to);
  }
  void Copy(BufferIndex from, BufferIndex to) {
    builder_.AddStep({.kernel = Make([](Operands p) -> Status {
                        Int(p.output(0)) = Int(p.input(0));
                        return {};
                      }),
                      .buffers = {.inputs = {from}, .outputs = {to}}});
  }
  // Returns what the input 3 gives.
  int Run() {
    const auto program = builder_.Build(SystemAllocator(), {.slot_count = 2}).value();
    arena_bytes_ = program->arena_bytes();
    int in = 3, out = 0;
    auto invocation = program->Instantiate().value();
    invocation->Bind(0, &in);
    invocation->Bind(1, &out);
    const Lease lease;
    EXPECT_TRUE(invocation->Run({.threads = lease}).ok());
    return out;
  }

  ProgramBuilder builder_;
  const BufferIndex input_ = builder_.AddSlot(0), output_ = builder_.AddSlot(1);
  const BufferIndex a_ = builder_.AddArena(64), b_ = builder_.AddArena(64);
  const BufferIndex sum_ = builder_.AddArena(64);
  size_t arena_bytes_ = 0;
};

// out = first + 10 * second, an output that may overwrite `first` alone.
TEST_P(InPlace, NeverOverwritesAnotherOperand) {
  const bool same = GetParam();
  const void* memory[3] = {};
  builder_.AddStep({.kernel = Make([&](Operands p) -> Status {
                      for (int i : {0, 1}) memory[i] = p.input(static_cast<size_t>(i));
                      memory[2] = p.output(0);
                      Int(p.output(0)) = Int(p.input(0)) + 10 * Int(p.input(1));
                      return {};
                    }),
                    .buffers = {.inputs = {a_, same ? a_ : b_}, .outputs = {sum_}},
                    .in_place = {{0, 0}}});
  Copy(sum_, output_);
  EXPECT_EQ(Run(), 33);
  EXPECT_EQ(memory[2] == memory[0], !same);
  EXPECT_NE(memory[2], memory[1]);
}
// Outputs that may take either input take one each, unless nobody reads them.
TEST_P(InPlace, EachOutputTakesAnInputOfItsOwn) {
  const bool read = GetParam();
  const BufferIndex product = builder_.AddArena(64);
  const void* memory[2] = {};
  builder_.AddStep({.kernel = Make([&](Operands p) -> Status {
                      const int x = Int(p.input(0)), y = Int(p.input(1));
                      for (size_t i : {0, 1}) memory[i] = p.output(i);
                      Int(p.output(1)) = x * y;
                      Int(p.output(0)) = x + y;
                      return {};
                    }),
                    .buffers = {.inputs = {a_, b_}, .outputs = {sum_, product}},
                    .in_place = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}});
  builder_.AddStep({.kernel = Make([](Operands p) -> Status {
                      Int(p.output(0)) = Int(p.input(0)) + 100 * Int(p.input(1));
                      return {};
                    }),
                    .buffers = {.inputs = {sum_, read ? product : sum_}, .outputs = {output_}}});
  EXPECT_EQ(Run(), read ? 906 : 606);
  EXPECT_NE(memory[0], memory[1]);
  EXPECT_EQ(arena_bytes_, read ? 2 * 64 : 3 * 64);
}
INSTANTIATE_TEST_SUITE_P(Sharing, InPlace, testing::Bool());

TEST(ArenaOwners, KnowsWhoWroteEachByteLast) {
  ArenaOwners owners;
  EXPECT_FALSE(owners.Owns({0, 1}, 1));
  owners.Write({0, 128}, 1);
  owners.Write({64, 64}, 2);
  EXPECT_TRUE(owners.Owns({0, 64}, 1));
  EXPECT_FALSE(owners.Owns({0, 65}, 1));
  EXPECT_TRUE(owners.Owns({64, 64}, 2));
  EXPECT_FALSE(owners.Owns({64, 65}, 2));
  owners.Write({32, 200}, 3);
  EXPECT_TRUE(owners.Owns({0, 32}, 1));
  EXPECT_TRUE(owners.Owns({32, 200}, 3));
  EXPECT_TRUE(owners.Owns({64, 0}, 2));
}

TEST(PreparedPool, KeepsTheLastFormatsOfEachSource) {
  PreparedPool pool;
  const auto get = [&](std::string format) {
    return pool.Get(SystemAllocator(), {.slot = 1, .format = std::move(format)}, 64).value().get();
  };
  const auto held = pool.Get(SystemAllocator(), {.slot = 1, .format = "a"}, 64).value();
  get("b");
  get("c");
  EXPECT_EQ(get("a"), held.get());
  get("d");
  EXPECT_NE(get("a"), held.get());
}

}  // namespace
}  // namespace hr::engine
