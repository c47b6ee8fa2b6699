// Every optimizer by its definition: updates one by one and joined, judged by the reference.
#include "backends/cpu/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "runtime/ops/optimizer.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/reference/evaluator.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/tested_backend.h"

namespace hr::cpu {
namespace {

using graph::ValueId;

Tensor Copy(const Tensor& tensor) { return reference::ToTensor(reference::FromTensor(tensor)); }

// An update of each of a few parameters, of sizes that fill no vector, one, and many slices.
class Training {
 public:
  static constexpr int64_t kCounts[] = {1, 0, 17, 33000, 3};
  static constexpr size_t kParameters = std::size(kCounts);

  using Values = std::function<Tensor(DType, int64_t count)>;
  // What kind of updates: in each run one counter for all, or whether to update is an input.
  struct Kind {
    bool one_counter = false, conditional = false;
  };
  Training(const ops::OptimizerDef& def, std::span<const double> settings, DType dtype, Kind kind,
           const Values& values)
      : def_(def), settings_(settings), dtype_(dtype) {
    std::vector<ValueId> inputs = {
        builder_.AddInput("rate", graph::ValueType::Tensor(DType::kFloat64, Dims{})).value()};
    for (size_t i = 0; i < kParameters; ++i) {
      const auto type = graph::ValueType::Tensor(dtype, Dims{kCounts[i]});
      inputs.push_back(builder_.AddInput(Cat("g", i), type).value());
    }
    if (kind.conditional)
      inputs.push_back(
          builder_.AddInput("when", graph::ValueType::Tensor(DType::kBool, Dims{})).value());
    for (size_t i = 0; i < kParameters; ++i) {
      std::vector<ValueId> own = {inputs[0], inputs[i + 1]};
      if (kind.conditional) own.push_back(inputs.back());
      AddUpdate(std::move(own), i, kind.one_counter, values);
    }
    for (ValueId input : inputs) {
      const graph::ValueType& type = builder_.graph().values[input].type;
      request_.feeds.push_back({input, type.dtype, *type.FixedDims()});
    }
  }

  // One run with these gradients after the other. Returns the variables at the end.
  std::vector<Tensor> Run(const Lease& threads, int slices, bool fuse,
                          std::span<const std::vector<Tensor>> gradients) {
    const graph::Module module = Specialized();
    auto backend = CreateTestedBackend();
    auto executable = backend->devices()[0]->Compile(module, {.allocator = &SystemAllocator(),
                                                              .operators = &registry_,
                                                              .threads = slices,
                                                              .fuse = fuse,
                                                              .check_memory = true});
    EXPECT_TRUE(executable.ok()) << executable.status().ToString();
    if (!executable.ok()) return {};
    plan_ = (*executable)->Describe();
    auto invocation = (*executable)->Instantiate().value();
    std::vector<Tensor> variables;
    auto slot = static_cast<uint32_t>(request_.feeds.size());
    EXPECT_TRUE(module.constants.empty());
    for (const Tensor& initial : initial_) {
      variables.push_back(Copy(initial));
      invocation->Bind(slot++, variables.back().data());
    }
    for (const std::vector<Tensor>& feeds : gradients) {
      for (uint32_t i = 0; i < feeds.size(); ++i) invocation->Bind(i, feeds[i].data());
      EXPECT_TRUE(invocation->Run({.threads = threads}).ok());
    }
    return variables;
  }

  std::vector<reference::Array> Expected(std::span<const std::vector<Tensor>> gradients) const {
    reference::Evaluator evaluator(builder_.module());
    for (const std::vector<Tensor>& feeds : gradients) {
      std::map<ValueId, reference::Array> given;
      for (size_t i = 0; i < feeds.size(); ++i)
        given[request_.feeds[i].value] = reference::FromTensor(feeds[i]);
      const auto done = evaluator.Run(given, {}, request_.targets);
      EXPECT_TRUE(done.ok()) << done.status().ToString();
    }
    return evaluator.variables();
  }

  // How many steps of the last plan have the words.
  size_t CountOf(std::string_view words) const {
    size_t count = 0;
    for (size_t at = 0; (at = plan_.find(words, at)) != std::string::npos; ++at) ++count;
    return count;
  }

 private:
  int64_t AddVariable(std::string_view name, Tensor initial) {
    initial_.push_back(initial);
    return builder_.AddVariable(name, std::move(initial), false).value();
  }

  Tensor CounterAt(int64_t steps) {
    return MakeTensor<int64_t>(SystemAllocator(), {}, std::span<const int64_t>(&steps, 1)).value();
  }

  void AddUpdate(std::vector<ValueId> inputs, size_t i, bool one_counter, const Values& values) {
    std::vector<graph::Attribute> attributes = {
        {"variable", AddVariable(Cat("p", i), values(dtype_, kCounts[i]))}};
    for (size_t s = 0; s < settings_.size(); ++s) {
      const auto& [name, otherwise, range] = def_.settings[s];
      if (range == ops::SettingRange::kFlag) {
        graph::Append(&attributes, {name, static_cast<int64_t>(settings_[s])});
      } else {
        graph::Append(&attributes, {name, settings_[s]});
      }
    }
    for (const ops::OptimizerState& state : def_.state) {
      if (!ops::Needs(def_, state, settings_)) continue;
      const std::string name = Cat("p", i, "/", state.suffix);
      if (!state.counter) {
        Tensor zero = reference::ToTensor(reference::Array(dtype_, {kCounts[i]}));
        graph::Append(&attributes, {state.attribute, AddVariable(name, std::move(zero))});
        continue;
      }
      if (i == 0 || !one_counter)
        counter_ = AddVariable(name, CounterAt(3 * static_cast<int64_t>(i)));
      graph::Append(&attributes, {state.attribute, counter_});
    }
    request_.targets.push_back(builder_
                                   .AddNode({.domain = std::string(ops::kTrain),
                                             .op = std::string(def_.op),
                                             .inputs = std::move(inputs),
                                             .outputs = 0,
                                             .attributes = std::move(attributes),
                                             .chained = false})
                                   .value());
  }

  graph::Module Specialized() {
    return transform::Specialize(registry_, builder_.module(), request_, nullptr, SystemAllocator())
        .value();
  }

  const ops::OptimizerDef& def_;
  const std::span<const double> settings_;
  const DType dtype_;
  ops::OpRegistry registry_;
  transform::GraphBuilder builder_{SystemAllocator(), registry_};
  transform::Request request_;
  std::vector<Tensor> initial_;
  int64_t counter_ = 0;
  std::string plan_;
};

class OptimizerTest : public KernelTest {
 protected:
  Tensor RandomTensor(DType dtype, int64_t count) {
    reference::Array array(dtype, {count});
    const std::vector<double> values = Random<double>(count);
    std::copy(values.begin(), values.end(), array.data.begin());
    return reference::ToTensor(array);
  }

  // Of 64ths. With settings of 16ths float32 mixes those of a few steps without rounding, so a sign
  // (Lion's) is never a matter of rounding.
  Tensor RandomGradient(DType dtype, int64_t count) {
    reference::Array array(dtype, {count});
    for (reference::Number& g : array.data)
      g = static_cast<reference::Number>(RandomInt(-64, 64)) / 64;
    return reference::ToTensor(array);
  }

  // Inside the range, and not so close to 0 that a division by it would need exact arithmetic;
  // 0 now and then where that is the default.
  double Draw(const ops::OptimizerSetting& setting) {
    if (setting.range == ops::SettingRange::kFlag) return static_cast<double>(RandomInt(0, 1));
    if (setting.otherwise == 0 && RandomInt(0, 1) == 0) return 0;
    const double value = static_cast<double>(RandomInt(1, 15)) / 16;
    return setting.range == ops::SettingRange::kFinite && RandomInt(0, 1) == 0 ? -value : value;
  }
  std::vector<double> DrawSettings(const ops::OptimizerDef& def) {
    for (;;) {
      std::vector<double> out;
      for (const ops::OptimizerSetting& setting : def.settings) out.push_back(Draw(setting));
      if (ops::CheckSettings(def, out).ok()) return out;
    }
  }

  // The learning rate and gradients of some steps.
  std::vector<std::vector<Tensor>> Feeds(DType dtype, int steps) {
    std::vector<std::vector<Tensor>> out;
    for (int step = 0; step < steps; ++step) {
      const double rate = 0.1 / (step + 1);
      out.emplace_back().push_back(
          MakeTensor<double>(SystemAllocator(), {}, std::span(&rate, 1)).value());
      for (int64_t count : Training::kCounts) out.back().push_back(RandomGradient(dtype, count));
    }
    return out;
  }

  void Check(const ops::OptimizerDef& def, std::span<const double> settings, DType dtype,
             Training::Kind kind = {}) {
    Training training(def, settings, dtype, kind,
                      [&](DType type, int64_t count) { return RandomTensor(type, count); });
    auto feeds = Feeds(dtype, 3);
    for (size_t step = 0; kind.conditional && step < feeds.size(); ++step) {
      const bool when = step != 1;
      feeds[step].push_back(
          MakeTensor<bool>(SystemAllocator(), {}, std::span<const bool>(&when, 1)).value());
    }
    const std::vector<Tensor> joined = training.Run(three_, 3, true, feeds);
    const bool joinable = !kind.one_counter;
    EXPECT_EQ(training.CountOf(Cat(def.op, " of 5 variables")), joinable ? 1u : 0u);
    const std::vector<Tensor> single = training.Run(one_, 1, false, feeds);
    EXPECT_EQ(training.CountOf(Cat(def.op, " of 1 variable")), 5u);
    const auto expected = training.Expected(feeds);
    const double error = dtype == DType::kFloat32 ? 1e-5 : 1e-14;
    ASSERT_EQ(joined.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto bytes = [](const Tensor& tensor) {
        return std::string_view(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
      };
      EXPECT_EQ(reference::Difference(joined[i], expected[i], error, error), "")
          << "variable " << i;
      EXPECT_TRUE(bytes(joined[i]) == bytes(single[i])) << "variable " << i;
    }
  }

  template <typename Body>
  void ForEach(Body body) {
    for (const ops::OptimizerDef& def : ops::Optimizers()) {
      for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
        SCOPED_TRACE(Cat(def.op, " of ", DTypeName(dtype)));
        body(def, dtype);
      }
    }
  }
};

TEST_P(OptimizerTest, DefaultsGiveWhatTheReferenceGives) {
  ForEach([&](const ops::OptimizerDef& def, DType dtype) {
    Check(def, ops::SettingsOf(def, {}), dtype);
  });
}

TEST_P(OptimizerTest, OtherSettingsGiveWhatTheReferenceGives) {
  ForEach([&](const ops::OptimizerDef& def, DType dtype) {
    for (int i = 0; i < 4; ++i) {
      const std::vector<double> settings = DrawSettings(def);
      SCOPED_TRACE(Join(settings));
      Check(def, settings, dtype);
    }
  });
}

// Each update counts.
TEST_P(OptimizerTest, ParametersMayShareACounter) {
  ForEach([&](const ops::OptimizerDef& def, DType dtype) {
    const bool counts = std::any_of(def.state.begin(), def.state.end(),
                                    [](const ops::OptimizerState& state) { return state.counter; });
    if (counts) Check(def, DrawSettings(def), dtype, {.one_counter = true});
  });
}

TEST_P(OptimizerTest, UpdatesMayDependOnACondition) {
  ForEach([&](const ops::OptimizerDef& def, DType dtype) {
    Check(def, DrawSettings(def), dtype, {.conditional = true});
  });
}

// Momentum of weights without gradients ends at 0, not among the subnormal numbers; what is no
// number stays.
TEST_P(OptimizerTest, FadedStateIsZero) {
  const auto fade = [&](auto one) {
    using T = decltype(one);
    std::vector<T> p(35), g(35), velocity(35, one);
    velocity[3] = std::numeric_limits<T>::quiet_NaN();
    velocity[34] = -one;
    OptimizerTensor<T> tensor{p.data(), g.data(), {velocity.data()}, nullptr, 35};
    const OptimizerUpdate update{OptimizerStep("SGD"), {0.9, 0, 0, 0}};
    for (int step = 0; step < 8000; ++step) {
      UpdateParameters<T>(three_, std::span(&tensor, 1), update, 0, 3, nullptr);
      for (T v : velocity) ASSERT_NE(std::fpclassify(v), FP_SUBNORMAL) << step;
    }
    for (size_t i = 0; i < velocity.size(); ++i) {
      EXPECT_TRUE(i == 3 ? std::isnan(velocity[i]) : velocity[i] == 0) << i;
    }
  };
  fade(1.0f);
  fade(1.0);
}

HR_KERNEL_TESTS(OptimizerTest);

// The list of steps and the table of definitions have the same optimizers, and agree about their
// states and settings.
template <template <class> class... Steps>
void CheckSteps(functors::StepList<Steps...>) {
  EXPECT_EQ(sizeof...(Steps), ops::Optimizers().size());
  const auto check = []<typename Step>(Step*) {
    const ops::OptimizerDef* def = ops::FindOptimizerOfOp(Step::kOperator);
    ASSERT_NE(def, nullptr) << Step::kOperator;
    EXPECT_EQ(sizeof(typename Step::Settings), def->settings.size() * sizeof(double));
    EXPECT_EQ(std::count_if(def->state.begin(), def->state.end(),
                            [](const ops::OptimizerState& state) { return !state.counter; }),
              Step::kStates);
  };
  (check(static_cast<Steps<float>*>(nullptr)), ...);
}
TEST(OptimizerStepsTest, FitTheDefinitions) { CheckSteps(functors::OptimizerSteps()); }

}  // namespace
}  // namespace hr::cpu
