// Networks of convolutions give the same in the layouts that are chosen for them as node by node in
// the plain one, forward and backward.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/transform/gradients.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/leaks.h"
#include "tests/reference/evaluator.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::lowering {
namespace {

using graph::ValueId;

// Choosing asks whether there is a oneDNN, which keeps what it has made.
[[maybe_unused]] const bool keeps_objects = library_keeps_objects = true;

class ConvLayouts : public testing::TestWithParam<int> {
 protected:
  ConvLayouts() { x_ = Input({GetParam(), 16, 6, 5}); }

  Tensor Random(const Dims& dims, float low = -1) {
    std::uniform_real_distribution<float> uniform(low, 1);
    Tensor out = Tensor::Create(SystemAllocator(), DType::kFloat32, dims).value();
    for (int64_t i = 0; i < ElementCount(dims); ++i) out.as<float>()[i] = uniform(engine_);
    return out;
  }
  ValueId Input(const Dims& dims) {
    const auto type = graph::ValueType::Tensor(DType::kFloat32, dims);
    const ValueId id = builder_.AddInput(Cat("x", feeds_.size()), type).value();
    feeds_.push_back({id, Random(dims)});
    return id;
  }
  // Weights and statistics are fed, so that nothing is computed before the run.
  ValueId Positive(const Dims& dims) {
    const ValueId id = Input(dims);
    feeds_.back().second = Random(dims, 0.3f);
    return id;
  }

  ValueId Apply(std::string op, std::vector<ValueId> inputs,
                std::vector<graph::Attribute> attributes = {}, size_t outputs = 1) {
    transform::NodeSpec spec{.op = std::move(op)};
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.outputs = outputs;
    const auto node = builder_.AddNode(spec);
    EXPECT_TRUE(node.ok()) << node.status().message();
    return builder_.graph().nodes[node.value()].outputs[0];
  }
  ValueId Conv(ValueId x, int64_t in, int64_t out, int64_t kernel, int64_t groups = 1,
               int64_t stride = 1, bool bias = true) {
    const int64_t pad = kernel / 2;
    const ValueId w = Input({out, in / groups, kernel, kernel});
    return Apply("Conv", {x, w, bias ? Input({out}) : graph::kNone},
                 {{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                  {"strides", std::vector<int64_t>{stride, stride}},
                  {"group", groups}});
  }
  ValueId Norm(ValueId x, int64_t c, int64_t training = 0) {
    return Apply("BatchNormalization", {x, Input({c}), Input({c}), Input({c}), Positive({c})},
                 {{"training_mode", training}});
  }
  ValueId Scalar(float value) {
    Tensor tensor = Tensor::Create(SystemAllocator(), DType::kFloat32, {}).value();
    *tensor.as<float>() = value;
    return builder_.Constant(std::move(tensor)).value();
  }
  ValueId Axes(std::vector<int64_t> values) {
    const Dims dims = {static_cast<int64_t>(values.size())};
    return builder_.Constant(MakeTensor<int64_t>(SystemAllocator(), dims, values).value()).value();
  }
  ValueId Relu(ValueId x) { return Apply("Relu", {x}); }

  // The fetches agree with exact arithmetic; returns the plan.
  std::string Check(std::vector<ValueId> fetches, double tolerance = 1e-4) {
    transform::Request request{.fetches = std::move(fetches)};
    for (const auto& [id, value] : feeds_) {
      request.feeds.push_back({id, value.dtype(), value.dims()});
    }
    const auto region =
        transform::Specialize(registry_, builder_.module(), request, nullptr, SystemAllocator());
    EXPECT_TRUE(region.ok()) << region.status().message();
    auto pool = CreateThreadPool(2).value();
    ThreadBudget budget(*pool);
    const auto executable =
        backend_->devices()[0]->Compile(*region, {.allocator = &SystemAllocator(),
                                                  .operators = &registry_,
                                                  .threads = 2,
                                                  .check_memory = true});
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    Judge(*region, **executable, budget.Acquire(2, {}).value(), tolerance);
    return (*executable)->Describe();
  }

  void Judge(const graph::Module& region, Executable& executable, const Lease& lease,
             double tolerance) {
    auto invocation = executable.Instantiate().value();
    uint32_t slot = 0;
    std::map<ValueId, reference::Array> given;
    for (size_t i = 0; i < feeds_.size(); ++i) {
      invocation->Bind(slot++, feeds_[i].second.data());
      given[region.main().inputs[i]] = reference::FromTensor(feeds_[i].second);
    }
    for (const Tensor& constant : region.constants) invocation->Bind(slot++, constant.data());
    std::vector<Tensor> outputs;
    std::vector<ValueId> values;
    for (const graph::Port& port : region.signatures[0].outputs) {
      const Dims dims = *region.main().values[port.value].type.FixedDims();
      outputs.push_back(Tensor::Create(SystemAllocator(), DType::kFloat32, dims).value());
      invocation->Bind(slot++, outputs.back().data());
      values.push_back(port.value);
    }
    ASSERT_TRUE(invocation->Run({.threads = lease}).ok());
    const auto expected = reference::Evaluator(region).Run(given, values);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(reference::Difference(outputs[i], (*expected)[i], tolerance, tolerance), "")
          << "output " << i;
    }
  }

  static bool Has(const std::string& plan, std::string_view kernel) {
    return plan.find(kernel) != std::string::npos;
  }

  std::mt19937 engine_{static_cast<uint32_t>(GetParam())};
  ops::OpRegistry registry_;
  transform::GraphBuilder builder_{SystemAllocator(), registry_};
  std::unique_ptr<Backend> backend_ = cpu::CreateTestedBackend();
  std::vector<std::pair<ValueId, Tensor>> feeds_;
  ValueId x_ = 0;
};

// A block of a residual network.
TEST_P(ConvLayouts, JoinWhatFollows) {
  const ValueId side = Norm(Conv(x_, 16, 32, 1), 32);
  const ValueId main = Norm(Conv(Relu(Norm(Conv(x_, 16, 32, 3), 32)), 32, 32, 3), 32);
  const std::string plan = Check({Relu(Apply("Add", {main, side}))});
  if (GetParam() >= 16) return;
  EXPECT_TRUE(Has(plan, "conv_channels_last+batch_normalization+relu")) << plan;
  EXPECT_TRUE(Has(plan, "conv_channels_last+batch_normalization+add+relu")) << plan;
  EXPECT_FALSE(Has(plan, "\"batch_normalization")) << plan;
}

TEST_P(ConvLayouts, KeepWhatOthersUse) {
  const ValueId conv = Conv(x_, 16, 24, 3), norm = Norm(conv, 24);
  const ValueId sum = Apply("Add", {norm, conv}), twice = Apply("Add", {conv, conv});
  Check({Relu(sum), norm, twice});
}

// Squeeze and excitation, a depthwise convolution, pools, a scalar, a value in the plain layout.
TEST_P(ConvLayouts, TakeNodesInBetween) {
  const Dims image = {GetParam(), 32, 6, 5};
  ValueId y = Relu(Conv(x_, 16, 32, 3));
  y = Apply("Clip", {Norm(Conv(y, 32, 32, 3, 32), 32), Scalar(-0.5f), Scalar(1.5f)});
  const ValueId pooled = Apply("GlobalAveragePool", {y});
  const ValueId gate = Apply("Sigmoid", {Conv(pooled, 32, 32, 1)});
  y = Apply("Mul", {Apply("Add", {y, Input(image)}), gate});
  y = Apply("Mul", {y, Input({32, 1, 1})});
  y = Apply("Mul", {y, Input({1})});
  const std::vector<int64_t> window = {3, 3}, two = {2, 2}, pads = {1, 1, 1, 1};
  const ValueId most =
      Apply("MaxPool", {y}, {{"kernel_shape", window}, {"strides", two}, {"pads", pads}});
  const ValueId mean =
      Apply("AveragePool", {y}, {{"kernel_shape", window}, {"strides", two}, {"pads", pads}});
  const ValueId above = Apply("Where", {Apply("Greater", {most, mean}), most, mean});
  const std::string plan = Check({Conv(above, 32, 8, 3), y});
  if (GetParam() >= 16) return;
  EXPECT_TRUE(Has(plan, "conv_depthwise_channels_last+batch_normalization+clip")) << plan;
}

// An expanding, a depthwise and a projecting convolution, whose weights do not change: one step for
// images that would not stay in the cache, with what is done to each of their results.
TEST_P(ConvLayouts, ChainConvolutions) {
  const int64_t n = GetParam() >= 16 ? 2 : GetParam();
  const auto conv = [&](ValueId x, int64_t in, int64_t out, int64_t kernel, int64_t groups,
                        int64_t stride) {
    const std::vector<int64_t> pads(4, kernel / 2), strides(2, stride);
    return Apply(
        "Conv",
        {x, builder_.Constant(Random({out, in / groups, kernel, kernel})).value(), Input({out})},
        {{"pads", pads}, {"strides", strides}, {"group", groups}});
  };
  const auto clip = [&](ValueId x) { return Apply("Clip", {x, Scalar(0), Scalar(6)}); };
  const ValueId x = Input({n, 16, 40, 36});
  const ValueId wide = clip(Norm(conv(x, 16, 96, 1, 1, 1), 96));
  const ValueId same = conv(Relu(conv(wide, 96, 96, 3, 96, 1)), 96, 16, 1, 1, 1);
  const ValueId sum = Apply("Add", {same, x});
  const ValueId less = conv(clip(conv(sum, 16, 96, 1, 1, 1)), 96, 96, 3, 96, 2);
  const std::string plan = Check({conv(less, 96, 24, 1, 1, 1), sum}, 1e-3);
  EXPECT_TRUE(Has(plan, "pointwise+batch_normalization+clip, depthwise+relu, pointwise+add"))
      << plan;
  EXPECT_TRUE(Has(plan, "pointwise+clip, depthwise, pointwise\"") ||
              Has(plan, "pointwise+clip, depthwise, matrix_unit\""))
      << plan;
}

// What others take, too, or the graph fetches, is made as a whole; and weights that are fed are
// others in each run.
TEST_P(ConvLayouts, ChainNothingThatOthersUse) {
  const auto conv = [&](ValueId x, ValueId w, int64_t kernel, int64_t groups) {
    return Apply("Conv", {x, w},
                 {{"pads", std::vector<int64_t>(4, kernel / 2)}, {"group", groups}});
  };
  const auto constant = [&](const Dims& dims) { return builder_.Constant(Random(dims)).value(); };
  const auto mean = [&](ValueId x) { return Apply("GlobalAveragePool", {x}); };
  const ValueId narrow = conv(Input({1, 16, 40, 36}), constant({16, 16, 3, 3}), 3, 1);
  const ValueId wide = conv(narrow, constant({96, 16, 1, 1}), 1, 1);
  const ValueId window = conv(wide, constant({96, 1, 3, 3}), 3, 96);
  const ValueId fed = conv(Relu(narrow), Input({96, 16, 1, 1}), 1, 1);
  const ValueId last = conv(fed, constant({96, 1, 3, 3}), 3, 96);
  const std::string plan = Check({mean(conv(window, constant({16, 96, 1, 1}), 1, 1)),
                                  mean(Relu(window)), mean(Relu(wide)), mean(last)},
                                 1e-3);
  EXPECT_TRUE(Has(plan, "\"conv_depthwise_channels_last")) << plan;
  EXPECT_FALSE(Has(plan, "conv_chain")) << plan;
}

// A convolution that adds its own image to its result needs that as a whole.
TEST_P(ConvLayouts, ChainNothingThatAddsItsImage) {
  const auto conv = [&](ValueId x, const Dims& weights, int64_t groups) {
    return Apply("Conv", {x, builder_.Constant(Random(weights)).value()},
                 {{"pads", std::vector<int64_t>(4, weights[2] / 2)}, {"group", groups}});
  };
  const ValueId wide = Relu(conv(Input({2, 16, 40, 36}), {96, 16, 1, 1}, 1));
  const ValueId window = Relu(Apply("Add", {conv(wide, {96, 1, 3, 3}, 96), wide}));
  const ValueId other = Relu(conv(Input({2, 96, 40, 36}), {96, 1, 3, 3}, 96));
  const ValueId sum = Apply("Add", {conv(other, {96, 96, 1, 1}, 1), other});
  Check({Apply("GlobalAveragePool", {conv(window, {16, 96, 1, 1}, 1)}),
         Apply("GlobalAveragePool", {sum})},
        1e-3);
}

// Images that the program keeps channels-last, with views and a Slice of everything around the
// convolutions: nothing is copied.
TEST_P(ConvLayouts, TakeTransposesAndViewsAsTheyAre) {
  const int64_t n = GetParam();
  const ValueId kept = Input({n, 30, 64});
  ValueId y = Apply("Unsqueeze", {kept, Axes({3})});
  y = Apply("Slice", {y, Axes({0, 0}), Axes({INT64_MAX, 64}), Axes({1, 2})});
  y = Apply("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  y = Relu(Apply("Conv", {y, Input({80, 64, 5, 1}), Input({80})}));
  y = Apply("Mul", {Apply("Squeeze", {y, Axes({3})}), Input({80, 1})});
  const std::string plan = Check({Apply("Squeeze", {Apply("GlobalMaxPool", {y}), Axes({2})})});
  if (GetParam() >= 16) return;
  EXPECT_FALSE(Has(plan, "to_channels_last")) << plan;
  EXPECT_FALSE(Has(plan, "from_channels_last")) << plan;
  EXPECT_FALSE(Has(plan, "\"transpose")) << plan;
  EXPECT_FALSE(Has(plan, "\"slice")) << plan;
}

TEST_P(ConvLayouts, TransposeWhatLiesOtherwise) {
  const ValueId images = Input({GetParam(), 6, 5, 32});
  const ValueId conv =
      Conv(Apply("Transpose", {images}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}), 32, 40, 3);
  const ValueId back = Apply("Transpose", {conv}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  const ValueId turned = Apply("Transpose", {images}, {{"perm", std::vector<int64_t>{0, 3, 2, 1}}});
  Check({back, Conv(turned, 32, 24, 3), Apply("Transpose", {Conv(turned, 32, 16, 1)})});
}

// Results that are added have one gradient, which all convolutions' gradients take.
TEST_P(ConvLayouts, TrainWhereResultsAreAdded) {
  struct Branch {
    int64_t kernel, dilation, groups;
  };
  const std::vector<std::pair<Branch, Branch>> pairs = {{{3, 1, 1}, {3, 2, 1}},
                                                        {{3, 1, 1}, {1, 1, 1}},
                                                        {{1, 1, 1}, {5, 1, 1}},
                                                        {{3, 1, 1}, {3, 1, 16}},
                                                        {{3, 2, 2}, {3, 1, 4}}};
  const ValueId shared = Input({16, 16, 3, 3});
  const auto conv = [&](const Branch& b, ValueId w) {
    const int64_t pad = (b.kernel - 1) * b.dilation / 2;
    return Apply("Conv", {x_, w},
                 {{"pads", std::vector<int64_t>(4, pad)},
                  {"dilations", std::vector<int64_t>(2, b.dilation)},
                  {"group", b.groups}});
  };
  const auto check = [&](const Branch& a, const Branch& b, ValueId of_a, ValueId of_b) {
    const ValueId y = Apply("Add", {conv(a, of_a), conv(b, of_b)});
    const ValueId ys[] = {Apply("Mul", {y, y})};
    std::vector<ValueId> xs = {x_, of_a};
    if (of_a != of_b) xs.push_back(of_b);
    const auto gradients = transform::AddGradients(builder_, ys, xs);
    ASSERT_TRUE(gradients.ok()) << gradients.status().message();
    Check(*gradients, 1e-3);
  };
  const auto weights = [&](const Branch& b) {
    return Input({16, 16 / b.groups, b.kernel, b.kernel});
  };
  for (const auto& [a, b] : pairs) check(a, b, weights(a), weights(b));
  check({3, 1, 1}, {3, 2, 1}, shared, shared);
}

// Biases before a normalization have no gradient but rounding errors.
TEST_P(ConvLayouts, TrainInOneLayout) {
  ValueId y = Relu(Norm(Conv(x_, 16, 24, 3, 1, 1, false), 24, 1));
  const ValueId side = Norm(Conv(y, 24, 32, 1, 1, 2, false), 32, 1);
  y = Relu(Norm(Conv(y, 24, 32, 3, 1, 2, false), 32, 1));
  y = Norm(Conv(y, 32, 32, 3, 32, 1, false), 32, 1);
  y = Relu(Apply("Add", {y, side}));
  const std::vector<int64_t> window = {3, 3}, pads = {1, 1, 1, 1};
  y = Apply("MaxPool", {y}, {{"kernel_shape", window}, {"pads", pads}});
  const ValueId pooled = Apply("GlobalAveragePool", {y});
  const ValueId loss = Apply("ReduceSum", {Apply("Mul", {pooled, Input({32, 1, 1})})});
  std::vector<ValueId> sources;
  for (const auto& [id, value] : feeds_) sources.push_back(id);
  const auto gradients = transform::AddGradients(builder_, std::span(&loss, 1), sources);
  ASSERT_TRUE(gradients.ok()) << gradients.status().message();
  std::vector<ValueId> fetches;
  for (const ValueId id : *gradients) {
    if (id != graph::kNone) fetches.push_back(id);
  }
  const std::string plan = Check(fetches, 2e-4);
  if (GetParam() >= 16) return;
  EXPECT_TRUE(Has(plan, "conv_grad_input_channels_last")) << plan;
}

class Normalizations : public ConvLayouts {
 protected:
  // Checks the gradients of the sum of y, each element with a weight of its own.
  std::string CheckGradients(ValueId y, const Dims& dims) {
    const ValueId loss = Apply("ReduceSum", {Apply("Mul", {y, Input(dims)})});
    std::vector<ValueId> sources, fetches = {y};
    for (const auto& [id, value] : feeds_) sources.push_back(id);
    const auto gradients = transform::AddGradients(builder_, std::span(&loss, 1), sources);
    EXPECT_TRUE(gradients.ok()) << gradients.status().message();
    for (const ValueId id : *gradients) {
      if (id != graph::kNone) fetches.push_back(id);
    }
    return Check(fetches, 2e-4);
  }
  const Dims image_ = {GetParam(), 16, 6, 5};
};

TEST_P(Normalizations, TrainWithWhatFollows) {
  const ValueId first = Relu(Norm(x_, 16, 1));
  const ValueId second = Norm(Apply("Mul", {first, Input(image_)}), 16, 1);
  const std::string plan = CheckGradients(Relu(Apply("Add", {first, second})), image_);
  EXPECT_TRUE(Has(plan, "batch_normalization_training+relu")) << plan;
  EXPECT_TRUE(Has(plan, "batch_normalization_training+add+relu")) << plan;
  EXPECT_TRUE(Has(plan, "batch_normalization_grad+relu")) << plan;
}

TEST_P(Normalizations, TrainWhereOthersUseWhatLiesBetween) {
  const ValueId norm = Norm(x_, 16, 1), sum = Apply("Add", {norm, norm});
  const ValueId relu = Relu(sum);
  const std::string plan = CheckGradients(Apply("Mul", {Relu(norm), relu}), image_);
  EXPECT_FALSE(Has(plan, "+relu")) << plan;
}

// What is added needs the running mean, which comes of the same node.
TEST_P(Normalizations, TrainWhereTheResidualComesAfter) {
  transform::NodeSpec spec{.op = "BatchNormalization", .outputs = 3};
  spec.inputs = {x_, Input({16}), Input({16}), Input({16}), Positive({16})};
  spec.attributes = {{"training_mode", int64_t{1}}};
  const auto node = builder_.AddNode(spec);
  ASSERT_TRUE(node.ok()) << node.status().message();
  const std::vector<ValueId> out = builder_.graph().nodes[node.value()].outputs;
  const ValueId mean = Apply("Unsqueeze", {out[1], Axes({1, 2})});
  const ValueId residual = Apply("Mul", {mean, Input(image_)});
  CheckGradients(Relu(Apply("Add", {residual, out[0]})), image_);
}

INSTANTIATE_TEST_SUITE_P(Batch, Normalizations, testing::Values(1, 3, 16));
INSTANTIATE_TEST_SUITE_P(Batch, ConvLayouts, testing::Values(1, 3, 16));

}  // namespace
}  // namespace hr::lowering
