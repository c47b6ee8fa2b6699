// A backend seen through a plugin's table. Its operators run there in cpu.through_plugin_table.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::plugin {
namespace {

graph::Module AddModule(const ops::OpRegistry& registry) {
  transform::GraphBuilder builder(SystemAllocator(), registry);
  const auto type = graph::ValueType::Tensor(DType::kFloat32, {4});
  const auto x = builder.AddInput("x", type).value();
  const auto node = builder.AddNode({.op = "Add", .inputs = {x, x}, .name = "sum"}).value();
  const transform::Request request{.feeds = {{x, DType::kFloat32, {4}}},
                                   .fetches = builder.graph().nodes[node].outputs};
  return transform::Specialize(registry, builder.Finish().value(), request, nullptr,
                               SystemAllocator())
      .value();
}

class ThroughTable : public testing::Test {
 protected:
  Device& device() { return *backend_->devices()[0]; }
  std::unique_ptr<Executable> Compile() {
    auto compiled =
        device().Compile(module_, {.allocator = &SystemAllocator(), .operators = &registry_});
    EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
    return std::move(compiled).value();
  }

  ops::OpRegistry registry_;
  graph::Module module_ = AddModule(registry_);
  std::unique_ptr<Backend> backend_ = cpu::CreateCpuBackendThroughTable();
};

TEST_F(ThroughTable, DescribesDevices) {
  EXPECT_EQ(backend_->name(), "cpu");
  ASSERT_EQ(backend_->devices().size(), 1u);
  EXPECT_EQ(device().info().name, "CPU:0");
  EXPECT_EQ(device().info().id, DeviceId{});
  EXPECT_FALSE(device().info().description.empty());
}

TEST_F(ThroughTable, RunsAndDescribes) {
  auto executable = Compile();
  EXPECT_NE(executable->Describe().find("\"sum\""), std::string::npos) << executable->Describe();
  auto invocation = executable->Instantiate().value();
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  invocation->Bind(0, x);
  invocation->Bind(1, y);
  ASSERT_TRUE(invocation->Run({.threads = Lease()}).ok());
  EXPECT_EQ(y[3], 8);
}

TEST_F(ThroughTable, LimitsKeepTheirCodeAndWords) {
  auto executable = Compile();
  auto invocation = executable->Instantiate().value();
  float x[4] = {};
  invocation->Bind(0, x);
  invocation->Bind(1, x);
  CancelToken cancel;
  cancel.Cancel();
  const CallLimits cancelled = {.cancel = &cancel};
  Status status = invocation->Run({.threads = Lease(), .limits = &cancelled});
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.message(), "the call was cancelled");
  CallLimits past{.deadline_nanos = 1, .clock = &SystemClock()};
  EXPECT_EQ(invocation->Run({.threads = Lease(), .limits = &past}).code(), Code::kDeadlineExceeded);
}

TEST_F(ThroughTable, FailuresKeepCodeSentenceAndNode) {
  module_.operators[0].name = "Sum4711";
  auto taken = device().Supports(module_);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(*taken, std::vector<char>{0});
  Status status = device().Compile(module_, {.operators = &registry_}).status().Clone();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.node(), "sum");
  EXPECT_EQ(status.message(), "the CPU backend has no kernel for Sum4711");
}

TEST_F(ThroughTable, StreamsAndEvents) {
  auto stream = device().CreateStream().value();
  auto event = device().CreateEvent().value();
  EXPECT_TRUE(stream->Record(*event).ok());
  EXPECT_TRUE(stream->Wait(*event).ok());
  EXPECT_TRUE(event->Done());
  EXPECT_TRUE(event->Synchronize({}).ok());
  EXPECT_TRUE(stream->Synchronize({}).ok());
  EXPECT_EQ(stream->native_handle(), nullptr);
  int from = 4711, to = 0;
  ASSERT_TRUE(device().Copy(&to, &from, sizeof to, CopyKind::kHostToDevice, stream.get()).ok());
  EXPECT_EQ(to, 4711);
}

TEST_F(ThroughTable, MemoryOutlivesTheBackend) {
  Block block = Block::Create(device().allocator(), 256).value();
  Allocator& allocator = device().allocator();
  allocator.Retain();
  backend_.reset();
  std::memset(block.data(), 1, 256);
  block.Reset();
  allocator.Release();
}

}  // namespace
}  // namespace hr::plugin
