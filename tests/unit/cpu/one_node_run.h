// Runs one node on the CPU backend, compiled as a plan compiles it: what the tests of operators
// share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/transform/compose.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/reference/evaluator.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::cpu {

// OneNodeRun run("ReduceSum");
// run.In<float>({2, 3}, values).Constant<int64_t>({1}, {0}).With("keepdims", int64_t{0});
// std::vector<Tensor> outputs = run.MustRun();
class OneNodeRun {
 public:
  explicit OneNodeRun(std::string op, std::string domain = "", int version = 0)
      : builder_(SystemAllocator(), registry_) {
    spec_.op = std::move(op);
    spec_.domain = std::move(domain);
    spec_.version = version;
  }

  // An input that is fed.
  OneNodeRun& In(Tensor value) {
    auto type = graph::ValueType::Tensor(value.dtype(), value.dims());
    auto id = builder_.AddInput(Cat("x", feeds_.size()), std::move(type));
    spec_.inputs.push_back(id.value());
    request_.feeds.push_back({id.value(), value.dtype(), value.dims()});
    feeds_.push_back(std::move(value));
    return *this;
  }
  template <typename T>
  OneNodeRun& In(Dims dims, std::vector<T> values) {
    return In(Make<T>(std::move(dims), values));
  }
  // An input whose value the plan knows.
  OneNodeRun& Constant(Tensor value) {
    spec_.inputs.push_back(builder_.Constant(std::move(value)).value());
    return *this;
  }
  template <typename T>
  OneNodeRun& Constant(Dims dims, std::vector<T> values) {
    return Constant(Make<T>(std::move(dims), values));
  }
  OneNodeRun& Omit() {
    spec_.inputs.push_back(graph::kNone);
    return *this;
  }
  template <typename T>
  OneNodeRun& With(std::string name, T value) {
    spec_.attributes.push_back({std::move(name), std::move(value)});
    return *this;
  }
  // A tensor as an attribute.
  OneNodeRun& WithTensor(std::string name, Tensor value) {
    graph::ValueId id = builder_.Constant(std::move(value)).value();
    uint32_t index = builder_.graph().values[id].constant;
    return With(std::move(name), graph::TensorIndex{index});
  }
  OneNodeRun& Outputs(size_t count) {
    spec_.outputs = count;
    return *this;
  }
  OneNodeRun& Threads(int count) {
    threads_ = count;
    return *this;
  }
  OneNodeRun& Seed(uint64_t seed, int64_t step) {
    seed_ = seed;
    step_ = step;
    return *this;
  }

  // Compiles on the first call, then runs; later calls run again.
  Result<std::vector<Tensor>> Run() {
    if (invocation_ == nullptr) HR_RETURN_IF_ERROR(Prepare());
    HR_RETURN_IF_ERROR(invocation_->Run({.threads = lease_, .seed = seed_, .step = step_}));
    return outputs_;
  }
  std::vector<Tensor> MustRun() {
    auto outputs = Run();
    EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
    return outputs.ok() ? std::move(outputs).value() : std::vector<Tensor>();
  }
  // Runs, and judges every output by exact arithmetic: see reference::Difference.
  void Check(double relative, double absolute) {
    std::vector<Tensor> outputs = MustRun();
    if (testing::Test::HasFailure()) return;
    const graph::Graph& graph = module_.main();
    std::map<graph::ValueId, reference::Array> feeds;
    for (size_t i = 0; i < feeds_.size(); ++i) {
      feeds[graph.inputs[i]] = reference::FromTensor(feeds_[i]);
    }
    std::vector<graph::ValueId> fetches;
    for (const graph::Port& port : module_.signatures[0].outputs) fetches.push_back(port.value);
    auto composed = transform::Composed(SystemAllocator(), registry_, module_, true);
    ASSERT_TRUE(composed.ok()) << composed.status().ToString();
    auto expected = reference::Evaluator(*composed).Run(feeds, fetches);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(reference::Difference(outputs[i], (*expected)[i], relative, absolute), "")
          << spec_.op << ", output " << i;
    }
  }
  // With a tolerance for results of a few roundings in `dtype`; none for integers.
  void Check(DType dtype = DType::kFloat32) {
    double error = dtype == DType::kFloat32 ? 4e-6 : dtype == DType::kFloat64 ? 4e-14 : 0;
    Check(error, error);
  }
  // The compiled region as JSON; after a run.
  std::string Describe() const { return executable_->Describe(); }
  // The failure of building, compiling or running; "" where there is none.
  std::string Failure() {
    auto outputs = Run();
    return outputs.ok() ? "" : outputs.status().ToString();
  }

  template <typename T>
  static Tensor Make(Dims dims, const std::vector<T>& values) {
    EXPECT_EQ(ElementCount(dims), static_cast<int64_t>(values.size()));
    if constexpr (std::is_same_v<T, bool>) {
      Tensor tensor = Tensor::Create(SystemAllocator(), DType::kBool, std::move(dims)).value();
      std::copy(values.begin(), values.end(), tensor.as<bool>());
      return tensor;
    } else {
      return MakeTensor<T>(SystemAllocator(), std::move(dims), std::span<const T>(values)).value();
    }
  }

 private:
  Status Prepare() {
    HR_ASSIGN_OR_RETURN(graph::NodeId node, builder_.AddNode(spec_));
    request_.fetches = builder_.graph().nodes[node].outputs;
    HR_ASSIGN_OR_RETURN(graph::Module module, builder_.Finish());
    if (transform::HasComposed(registry_, module)) {
      HR_ASSIGN_OR_RETURN(module,
                          transform::Composed(SystemAllocator(), registry_, std::move(module)));
    }
    HR_ASSIGN_OR_RETURN(
        module_, transform::Specialize(registry_, module, request_, nullptr, SystemAllocator()));
    HR_ASSIGN_OR_RETURN(pool_, CreateThreadPool(threads_));
    budget_ = std::make_unique<ThreadBudget>(*pool_);
    HR_ASSIGN_OR_RETURN(lease_, budget_->Acquire(threads_, {}));
    backend_ = CreateTestedBackend();
    HR_ASSIGN_OR_RETURN(executable_,
                        backend_->devices()[0]->Compile(module_, {.allocator = &SystemAllocator(),
                                                                  .operators = &registry_,
                                                                  .threads = threads_,
                                                                  .check_memory = true}));
    HR_ASSIGN_OR_RETURN(invocation_, executable_->Instantiate());
    return Bind();
  }

  Status Bind() {
    uint32_t slot = 0;
    for (const Tensor& feed : feeds_) invocation_->Bind(slot++, feed.data());
    for (const Tensor& constant : module_.constants) invocation_->Bind(slot++, constant.data());
    for (const graph::Port& port : module_.signatures[0].outputs) {
      const graph::ValueType& type = module_.main().values[port.value].type;
      HR_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::Create(SystemAllocator(), type.dtype, *type.FixedDims()));
      invocation_->Bind(slot++, tensor.data());
      outputs_.push_back(std::move(tensor));
    }
    return {};
  }

  ops::OpRegistry registry_;
  transform::GraphBuilder builder_;
  transform::NodeSpec spec_;
  transform::Request request_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> outputs_;
  graph::Module module_;
  int threads_ = 1;
  uint64_t seed_ = 0;
  int64_t step_ = 0;
  std::unique_ptr<Executor> pool_;
  std::unique_ptr<ThreadBudget> budget_;
  Lease lease_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Invocation> invocation_;
};

// Building, compiling or running fails with a message that contains `text`.
inline void ExpectFailure(OneNodeRun& run, std::string_view text) {
  const std::string failure = run.Failure();
  EXPECT_NE(failure.find(text), std::string::npos) << "the failure is '" << failure << "'";
}

// The tensor's elements.
template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DTypeOf<T>::value);
  auto values = tensor.span<T>();
  return {values.begin(), values.end()};
}

}  // namespace hr::cpu
