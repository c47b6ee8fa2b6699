#include "runtime/engine/program.h"

#include <gtest/gtest.h>

#include <functional>

namespace hr::engine {
namespace {

class Function final : public Kernel {
 public:
  explicit Function(std::function<Status(void* const*)> body) : body_(std::move(body)) {}
  Status Run(void* const* operands, const RunContext&) const override { return body_(operands); }
  std::string Describe() const override { return "function"; }

 private:
  std::function<Status(void* const*)> body_;
};

std::unique_ptr<Kernel> Make(std::function<Status(void* const*)> body) {
  return std::make_unique<Function>(std::move(body));
}

int& Int(void* memory) { return *static_cast<int*>(memory); }

// Slots: weights, input, output. Twice the weights is kept; output = that + input.
class Preparations : public testing::Test {
 protected:
  void SetUp() override {
    ProgramBuilder builder;
    const BufferIndex weights = builder.AddSlot(0), input = builder.AddSlot(1);
    const BufferIndex output = builder.AddSlot(2), kept = builder.AddKept(sizeof(int));
    const BufferIndex scratch = builder.AddArena(64);
    builder.AddPreparation(
        {.kernel = Make([this](void* const* p) -> Status {
           ++prepared_;
           if (fail_) return Unavailable("not now");
           Int(p[2]) = 2 * Int(p[0]);
           Int(p[1]) = Int(p[2]);
           return {};
         }),
         .operands = {{weights, Access::kRead}, {kept, Access::kWrite}, {scratch, Access::kWrite}},
         .node = "product"});
    builder.AddStep(
        {.kernel = Make([](void* const* p) -> Status {
           Int(p[2]) = Int(p[0]) + Int(p[1]);
           return {};
         }),
         .operands = {{kept, Access::kRead}, {input, Access::kRead}, {output, Access::kWrite}}});
    program_ = builder.Build(SystemAllocator(), 3).value();
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

}  // namespace
}  // namespace hr::engine
