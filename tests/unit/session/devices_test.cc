// Random graphs over several devices give what they give on the CPU alone.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/session/partition.h"
#include "runtime/session/placement.h"
#include "runtime/session/session.h"
#include "runtime/transform/graph_builder.h"
#include "tests/plugin/mirror_backend.h"

namespace hr::session {
namespace {

using graph::ValueId;

constexpr int64_t kWidth = 3;

std::shared_ptr<Env> MakeEnv(std::string refused = {}) {
  auto env = Env::Create({.threads = 1}).value();
  EXPECT_TRUE(env->AddBackend(cpu::CreateCpuBackend(env->allocator())).ok());
  EXPECT_TRUE(
      env->AddBackend(std::make_unique<test::MirrorBackend>(env->allocator(), 2, refused)).ok());
  return env;
}

Tensor Numbers(std::mt19937& engine) {
  std::vector<double> values(kWidth);
  for (double& value : values) value = static_cast<double>(engine() % 64) / 16 - 2;
  return MakeTensor<double>(SystemAllocator(), {kWidth}, std::span<const double>(values)).value();
}

// A program of additions, products and changes of variables, in random order on random devices.
class RandomProgram {
 public:
  RandomProgram(const Env& env, uint32_t seed)
      : engine_(seed), builder_(SystemAllocator(), env.operators()) {
    const auto type = graph::ValueType::Tensor(DType::kFloat64, {kWidth});
    values_.push_back(builder_.AddInput("x", type).value());
    values_.push_back(builder_.Constant(Numbers(engine_)).value());
    for (uint32_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(builder_.AddVariable(Cat("v", i), Numbers(engine_), true).ok());
      homes_.push_back(Device());
    }
    for (int i = 0; i < 25; ++i) AddStep();
  }

  graph::Module Finish() { return builder_.Finish().value(); }
  std::vector<std::string> fetches() {
    std::vector<std::string> names;
    for (int i = 0; i < 4; ++i) names.push_back(builder_.graph().values[Any()].name);
    return names;
  }
  std::vector<std::string> targets() const { return targets_; }
  Tensor NextInput() { return Numbers(engine_); }

 private:
  std::string Device() {
    static const char* const kNames[] = {"", "CPU:0", "MIRROR:0", "MIRROR:1"};
    return kNames[engine_() % 4];
  }
  ValueId Any() { return values_[engine_() % values_.size()]; }

  void AddStep() {
    const auto variable = static_cast<uint32_t>(engine_() % homes_.size());
    switch (engine_() % 6) {
      case 0:
        builder_.SetDevice(homes_[variable]);
        values_.push_back(builder_.Read(variable).value());
        builder_.SetDevice("");
        return;
      case 1: return Change("Assign", variable);
      case 2: return Change("AssignAdd", variable);
      default: break;
    }
    static const char* const kOps[] = {"Add", "Mul", "Max"};
    const auto node =
        builder_.AddNode({.op = kOps[engine_() % 3], .inputs = {Any(), Any()}, .device = Device()});
    values_.push_back(builder_.graph().nodes[node.value()].outputs[0]);
  }

  void Change(const char* op, uint32_t variable) {
    const auto node = builder_.AddNode(
        {.domain = std::string(ops::kState),
         .op = op,
         .inputs = {Any()},
         .outputs = 0,
         .attributes = graph::Attributes({{"variable", static_cast<int64_t>(variable)}}),
         .device = homes_[variable]});
    targets_.push_back(builder_.graph().nodes[node.value()].name);
  }

  std::mt19937 engine_;
  transform::GraphBuilder builder_;
  std::vector<ValueId> values_;
  std::vector<std::string> homes_;
  std::vector<std::string> targets_;
};

bool Same(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void ExpectSameRuns(const std::shared_ptr<Env>& env, uint32_t seed, const std::string& otherwise) {
  RandomProgram program(*env, seed);
  const auto fetches = program.fetches(), targets = program.targets();
  auto model = Model::Create(env, program.Finish()).value();
  SessionOptions alone, spread;
  alone.plan.only_host = true;
  spread.plan.device = otherwise;
  auto expected = Session::Create(model, alone).value();
  auto session = Session::Create(model, spread).value();
  for (int step = 0; step < 3; ++step) {
    const NamedTensor feed{"x", program.NextInput()};
    auto want = expected->Run({&feed, 1}, fetches, targets, {});
    auto got = session->Run({&feed, 1}, fetches, targets, {});
    ASSERT_TRUE(want.ok()) << want.status().ToString();
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.status().ToString();
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_TRUE(Same((*want)[i], (*got)[i])) << "seed " << seed << ", " << fetches[i];
    }
    for (uint32_t v = 0; v < 3; ++v) {
      EXPECT_TRUE(Same(expected->GetVariable(v, {}).value(), session->GetVariable(v, {}).value()))
          << "seed " << seed << ", variable " << v << ", step " << step;
    }
  }
}

TEST(Devices, RandomProgramsGiveTheSame) {
  auto env = MakeEnv();
  for (uint32_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    ExpectSameRuns(env, seed, seed % 2 == 0 ? "" : "MIRROR:1");
  }
}

TEST(Devices, RandomProgramsWithFallbackGiveTheSame) {
  for (const char* refused : {"Mul", "AssignAdd", "Read"}) {
    auto env = MakeEnv(refused);
    for (uint32_t seed = 0; seed < 100 && !testing::Test::HasFailure(); ++seed) {
      ExpectSameRuns(env, seed, seed % 2 == 0 ? "" : "MIRROR:0");
    }
  }
}

// a and b on one device, with something on another between them and beside them: no part may wait
// for itself.
TEST(Devices, PartsAreConvex) {
  auto env = MakeEnv();
  transform::GraphBuilder builder(SystemAllocator(), env->operators());
  const auto type = graph::ValueType::Tensor(DType::kFloat64, {kWidth});
  const ValueId x = builder.AddInput("x", type).value();
  auto add = [&](ValueId a, ValueId b, const char* device) {
    const auto node = builder.AddNode({.op = "Add", .inputs = {a, b}, .device = device}).value();
    return builder.graph().nodes[node].outputs[0];
  };
  const ValueId a = add(x, x, "MIRROR:0"), middle = add(a, x, "CPU:0");
  const ValueId b = add(a, middle, "MIRROR:0");
  const transform::Request request{.feeds = {{x, DType::kFloat64, {kWidth}}}, .fetches = {b}};
  const graph::Module whole = transform::Specialize(env->operators(), builder.Finish().value(),
                                                    request, nullptr, SystemAllocator())
                                  .value();
  const auto parts = Cut(env->operators(), whole, Place(*env, whole, "").value());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].device->info().name, "MIRROR:0");
  EXPECT_EQ(parts[1].device->info().name, "CPU:0");
  EXPECT_EQ(parts[2].device->info().name, "MIRROR:0");
  EXPECT_EQ(parts[0].outputs.size(), 1u);
  EXPECT_EQ(parts[2].inputs.size(), 2u);
}

TEST(Devices, UsersOfAVariableStayTogether) {
  auto env = MakeEnv("AssignAdd");
  transform::GraphBuilder builder(SystemAllocator(), env->operators());
  std::mt19937 engine;
  const uint32_t v = builder.AddVariable("v", Numbers(engine), true).value();
  builder.SetDevice("MIRROR:1");
  const ValueId read = builder.Read(v).value();
  builder.SetDevice("");
  const auto change = builder.AddNode({.domain = std::string(ops::kState),
                                       .op = "AssignAdd",
                                       .inputs = {read},
                                       .outputs = 0,
                                       .attributes = graph::Attributes({{"variable", v}})});
  const transform::Request looking{.fetches = {read}};
  const transform::Request changing{.targets = {change.value()}};
  const graph::Module module = builder.Finish().value();
  for (const auto& [request, device] :
       {std::pair(looking, "MIRROR:1"), std::pair(changing, "CPU:0")}) {
    const graph::Module whole =
        transform::Specialize(env->operators(), module, request, nullptr, SystemAllocator())
            .value();
    for (const Device* placed : Place(*env, whole, "").value()) {
      EXPECT_EQ(placed->info().name, device);
    }
  }
}

}  // namespace
}  // namespace hr::session
