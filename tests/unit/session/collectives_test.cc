// Runs that communicate, in a group where the test decides when an operation ends and how: what is
// posted before anything is waited for, and what failures, limits and an abort leave behind.
#include <gtest/gtest.h>

#include <thread>

#include "backends/cpu/cpu_backend.h"
#include "runtime/session/session.h"
#include "tests/unit/engine/fake_collectives.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::session {
namespace {

// sum = AllReduce(x) + AllReduce(-x), so that two operations are in flight at once.
class CollectivesTest : public transform::BuiltGraph {
 protected:
  void SetUp() override {
    auto env = Env::Create({.threads = 1}).value();
    ASSERT_TRUE(env->AddBackend(cpu::CreateCpuBackend(env->allocator())).ok());
    const auto x = Input("x", {kElements});
    const auto first = AllReduce(x), second = AllReduce(Node("Neg", {x}));
    sum_ = Named(Node("Add", {first, second}));
    auto model = Model::Create(env, builder_.Finish().value());
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    session_ = Session::Create(*model, {}).value();
    ASSERT_TRUE(session_->BindGroup("g", group_, {}).ok());
  }
  transform::ValueId AllReduce(transform::ValueId x) {
    return Output(AddNode({.domain = std::string(ops::kComm),
                           .op = "AllReduce",
                           .inputs = {x},
                           .attributes = {{"group", std::string("g")}}}));
  }
  std::string Named(transform::ValueId value) { return builder_.graph().values[value].name; }

  // Runs on a thread of its own, which Ended() waits for.
  void Start(const CallLimits& limits = {}) {
    running_ = std::thread([this, limits] {
      const NamedTensor feed{"x", Make(DType::kFloat32, {kElements}, {1, 2, 3, 4})};
      const std::vector<std::string> fetches = {sum_};
      auto result = session_->Run({&feed, 1}, fetches, {}, limits);
      status_ = result.status().Clone();
      if (result.ok()) result_ = (*result)[0];
    });
  }
  Status Ended() {
    running_.join();
    return status_.Clone();
  }
  // What the group would have written.
  void Give(size_t index, float value) {
    auto* out = static_cast<float*>(group_->posting(index).output.data);
    std::fill(out, out + kElements, value);
    group_->End(index);
  }
  void ExpectNothingInFlight() {
    for (size_t i = 0; i < group_->posted(); ++i) EXPECT_TRUE(group_->posting(i).completed) << i;
  }

  static constexpr int64_t kElements = 4;
  std::shared_ptr<comm::FakeCollectives> group_ = std::make_shared<comm::FakeCollectives>();
  std::shared_ptr<Session> session_;
  std::string sum_;
  std::thread running_;
  Status status_;
  Tensor result_;
};

TEST_F(CollectivesTest, AllIsStartedBeforeAnythingIsWaitedFor) {
  Start();
  ASSERT_TRUE(group_->AwaitPosted(2));
  ASSERT_TRUE(group_->AwaitWaitedFor(0) || group_->AwaitWaitedFor(1));
  // They may end in any order.
  Give(1, 30);
  Give(0, 12);
  ASSERT_TRUE(Ended().ok()) << status_.ToString();
  for (int64_t i = 0; i < kElements; ++i)
    EXPECT_EQ(reinterpret_cast<const float*>(result_.data())[i], 42);
  ExpectNothingInFlight();
}

TEST_F(CollectivesTest, AFailureEndsTheRunAndGivesAllMemoryBack) {
  Start();
  ASSERT_TRUE(group_->AwaitPosted(2));
  group_->End(0, Unavailable("the cable was cut"));
  const Status status = Ended();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("the cable was cut"), std::string_view::npos);
  // The other ranks wait for what this one does not post any more.
  EXPECT_FALSE(group_->status().ok());
  ExpectNothingInFlight();
}

TEST_F(CollectivesTest, AnAbortEndsARunThatWaits) {
  Start();
  ASSERT_TRUE(group_->AwaitPosted(2));
  ASSERT_TRUE(group_->AwaitWaitedFor(0) || group_->AwaitWaitedFor(1));
  group_->Abort("rank 1 has had enough");
  EXPECT_EQ(Ended().code(), Code::kAborted);
  ExpectNothingInFlight();
  Start();  // a group that has ended takes nothing more
  EXPECT_EQ(Ended().code(), Code::kAborted);
  EXPECT_EQ(group_->posted(), 2u);
}

TEST_F(CollectivesTest, CancelEndsARunThatWaits) {
  CancelToken token;
  Start({.cancel = &token});
  ASSERT_TRUE(group_->AwaitWaitedFor(0) || group_->AwaitWaitedFor(1));
  token.Cancel();
  EXPECT_FALSE(Ended().ok());
  EXPECT_FALSE(group_->status().ok());
  ExpectNothingInFlight();
}

}  // namespace
}  // namespace hr::session
