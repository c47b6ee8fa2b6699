#include <gtest/gtest.h>

#include <charconv>
#include <functional>

#include "runtime/engine/program.h"

namespace hr::engine {
namespace {

constexpr size_t kBytes = 4096;

std::unique_ptr<Kernel> Computing(std::function<void(Operands)> body) {
  return MakeKernel("function",
                    [body = std::move(body)](const Operands& operands, const LaunchContext&) {
                      body(operands);
                      return Status();
                    });
}

// They may wrap around.
uint64_t& Number(void* memory) { return *static_cast<uint64_t*>(memory); }
uint64_t Number(const void* memory) { return *static_cast<const uint64_t*>(memory); }

// A chain of layers and what goes back over it: a_i = 3 a_(i-1) + i, g_i = 5 g_(i+1) + a_i. Slots:
// input, output (g_1), weights.
struct Chain {
  explicit Chain(int layers) : forward_runs(static_cast<size_t>(layers) + 1) {
    values = {builder.AddSlot(0)};
    for (int i = 1; i <= layers; ++i) {
      values.push_back(builder.AddArena(kBytes));
      builder.AddStep(
          {.kernel = Computing([this, i](Operands p) {
             ++forward_runs[static_cast<size_t>(i)];
             Number(p.output(0)) = 3 * Number(p.input(0)) + static_cast<uint64_t>(i);
           }),
           .buffers = {.inputs = {values[static_cast<size_t>(i) - 1]}, .outputs = {values.back()}},
           .node = Cat("layer", i),
           .repeatable = true});
    }
    BufferIndex gradient = values.back();
    for (int i = layers; i >= 1; --i) {
      const BufferIndex next = i == 1 ? builder.AddSlot(1) : builder.AddArena(kBytes);
      builder.AddStep(
          {.kernel = Computing([](Operands p) {
             Number(p.output(0)) = 5 * Number(p.input(0)) + Number(p.input(1));
           }),
           .buffers = {.inputs = {gradient, values[static_cast<size_t>(i)]}, .outputs = {next}},
           .in_place = {{0, 0}},
           .node = Cat("gradient", i),
           .repeatable = true});
      gradient = next;
    }
  }

  Result<std::unique_ptr<Program>> Build(size_t limit) {
    return builder.Build(
        SystemAllocator(),
        {.slot_count = 3, .first_output_slot = 1, .check_memory = true, .memory_limit = limit});
  }
  int64_t Run(Program& program) {
    int64_t in = 2, out = 0, weights = 0;
    const Lease lease;
    auto invocation = program.Instantiate().value();
    invocation->Bind(0, &in);
    invocation->Bind(1, &out);
    invocation->Bind(2, &weights);
    EXPECT_TRUE(invocation->Run({.threads = lease}).ok());
    return out;
  }
  int runs() const {
    int sum = 0;
    for (const int count : forward_runs) sum += count;
    return sum;
  }

  ProgramBuilder builder;
  std::vector<BufferIndex> values;
  std::vector<int> forward_runs;
};

// The number in "… the plan needs N bytes …".
size_t NeededBytes(const Status& status) {
  const std::string_view message = status.message();
  const size_t at = message.find("needs ") + 6;
  size_t bytes = 0;
  std::from_chars(message.data() + at, message.data() + message.size(), bytes);
  return bytes;
}

TEST(MemoryLimit, StepsRunAgainUntilThePlanFits) {
  Chain whole(64);
  const auto free = whole.Build(0).value();
  const int64_t expected = whole.Run(*free);
  EXPECT_EQ(whole.runs(), 64);
  const size_t full = free->arena_bytes();
  EXPECT_GE(full, 64 * kBytes);
  for (const size_t limit : {full, full * 3 / 4, full / 2, full / 3}) {
    Chain chain(64);
    const auto program = chain.Build(limit);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_LE((*program)->arena_bytes(), limit);
    EXPECT_EQ(chain.Run(**program), expected);
    // No more than what the limit asks for is computed again.
    EXPECT_EQ(chain.runs() == 64, limit == full);
    EXPECT_LE(chain.runs(), limit == full * 3 / 4 ? 64 + 20 : 2 * 64);
  }
}

// Layers that are kept and layers that are not take the least memory at the root of their number.
TEST(MemoryLimit, SaysTheLeastThatItCanBeAndMeetsIt) {
  Chain refused(64);
  const auto none = refused.Build(1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kResourceExhausted);
  EXPECT_NE(none.status().message().find("bytes of 'layer"), std::string::npos)
      << none.status().message();
  const size_t least = NeededBytes(none.status());
  EXPECT_LE(least, 24 * kBytes);
  for (const size_t limit : {least, least + 1, least + kBytes, 2 * least}) {
    Chain chain(64);
    const auto program = chain.Build(limit);
    ASSERT_TRUE(program.ok()) << limit << ": " << program.status().message();
    EXPECT_LE((*program)->arena_bytes(), limit);
  }
  Chain below(64);
  EXPECT_FALSE(below.Build(least - 1).ok());
}

TEST(MemoryLimit, IsTheSameChoiceEachTime) {
  Chain first(40), second(40);
  const auto one = first.Build(20 * kBytes).value(), other = second.Build(20 * kBytes).value();
  EXPECT_EQ(one->Describe(), other->Describe());
}

// Steps with effects, and those whose operands others read meanwhile.
TEST(MemoryLimit, RunsNothingAgainThatMustRunOnce) {
  for (const bool in_flight : {false, true}) {
    Chain chain(16);
    ProgramBuilder& builder = chain.builder;
    // Another chain that is as long and not repeatable.
    BufferIndex last = builder.AddSlot(0);
    std::vector<BufferIndex> kept;
    int runs = 0;
    const auto count = [&](Operands p) {
      ++runs;
      Number(p.output(0)) = Number(p.input(0)) + 1;
    };
    const auto read = [](Operands p) { Number(p.output(0)) = Number(p.input(0)); };
    for (int i = 0; i < 16; ++i) {
      kept.push_back(builder.AddArena(kBytes));
      builder.AddStep({.kernel = Computing(count),
                       .buffers = {.inputs = {last}, .outputs = {kept.back()}},
                       .node = "once",
                       .repeatable = in_flight});
      last = kept.back();
    }
    for (int i = 15; i >= 0; --i) {
      builder.AddStep({.kernel = Computing(read),
                       .buffers = {.inputs = {kept[static_cast<size_t>(i)]},
                                   .outputs = {builder.AddArena(kBytes)}},
                       .in_flight = in_flight});
    }
    EXPECT_FALSE(chain.Build(8 * kBytes).ok());
    const auto program = chain.Build(0).value();
    chain.Run(*program);
    EXPECT_EQ(runs, 16);
  }
}

// A step may have read a variable that has another value since.
TEST(MemoryLimit, RunsNothingAgainOnceAVariableIsWritten) {
  for (const bool writes : {false, true}) {
    ProgramBuilder builder;
    const BufferIndex input = builder.AddSlot(0), output = builder.AddSlot(1),
                      weights = builder.AddSlot(2), large = builder.AddArena(8 * kBytes),
                      other = builder.AddArena(8 * kBytes);
    const auto copy = [](Operands p) { Number(p.output(0)) = Number(p.input(0)); };
    const auto nothing = [](Operands) {};
    builder.AddStep({.kernel = Computing(copy),
                     .buffers = {.inputs = {input}, .outputs = {large}},
                     .repeatable = true});
    StepSpec write{.kernel = Computing(nothing)};
    if (writes) write.buffers.variables = {weights};
    builder.AddStep(std::move(write));
    builder.AddStep({.kernel = Computing(copy),
                     .buffers = {.inputs = {input}, .outputs = {other}},
                     .repeatable = true});
    builder.AddStep({.kernel = Computing(nothing), .buffers = {.inputs = {other}}});
    builder.AddStep(
        {.kernel = Computing(copy), .buffers = {.inputs = {large}, .outputs = {output}}});
    const auto program =
        builder.Build(SystemAllocator(), {.slot_count = 3, .memory_limit = 12 * kBytes});
    EXPECT_EQ(program.ok(), !writes);
  }
}

TEST(MemoryPeak, NamesWhatHoldsIt) {
  Chain chain(12);
  const std::string text = chain.Build(0).value()->Describe();
  EXPECT_NE(text.find(R"("peak":{"bytes":53248,"step":12,"node":"gradient12")"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"node":"layer1","bytes":4096,"first_step":0,"last_step":23,)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("other_bytes":12288)"), std::string::npos) << text;
}

// Programs that run one after the other have one arena.
TEST(Arenas, AreLentByOneProgramToTheNext) {
  Chain large(20), small(10);
  const auto first = large.Build(0).value(), second = small.Build(0).value();
  ArenaPool pool(SystemAllocator(), 2);
  int64_t in = 2, out[2] = {};
  const Lease lease;
  std::unique_ptr<Invocation> invocations[] = {first->Instantiate().value(),
                                               second->Instantiate().value()};
  for (int round = 0; round < 3; ++round) {
    for (int i : {0, 1}) {
      invocations[i]->Bind(0, &in);
      invocations[i]->Bind(1, &out[i]);
      ASSERT_TRUE(invocations[i]->Run({.threads = lease, .arenas = &pool}).ok());
    }
    EXPECT_EQ(pool.idle_bytes(), first->arena_bytes());
    EXPECT_EQ(out[0], large.Run(*first));
    EXPECT_EQ(out[1], small.Run(*second));
  }
  pool.Clear();
  EXPECT_EQ(pool.idle_bytes(), 0u);
  ASSERT_TRUE(invocations[1]->Run({.threads = lease, .arenas = &pool}).ok());
  EXPECT_EQ(out[1], small.Run(*second));
  pool.Close();
  ASSERT_TRUE(invocations[0]->Run({.threads = lease, .arenas = &pool}).ok());
  EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(ArenaPool, GivesTheSmallestThatIsLargeEnough) {
  ArenaPool pool(SystemAllocator(), 3);
  Block small = pool.Take(100, nullptr).value(), large = pool.Take(1000, nullptr).value();
  Block middle = pool.Take(500, nullptr).value();
  const void *at_small = small.data(), *at_large = large.data(), *at_middle = middle.data();
  pool.Put(std::move(large));
  pool.Put(std::move(small));
  pool.Put(std::move(middle));
  Block again = pool.Take(200, nullptr).value();
  EXPECT_EQ(again.data(), at_middle);
  pool.Put(std::move(again));
  again = pool.Take(200, at_large).value();  // the one that was used last
  EXPECT_EQ(again.data(), at_large);
  pool.Put(std::move(again));
  again = pool.Take(10, at_small).value();
  EXPECT_EQ(again.data(), at_small);
  // None is large enough: the largest idle one goes.
  Block huge = pool.Take(5000, nullptr).value();
  EXPECT_EQ(pool.idle_bytes(), 500u);
}

}  // namespace
}  // namespace hr::engine
