#include "runtime/session/same_graph.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/transform/built_graph.h"

namespace hr::session {
namespace {

// Stands for a group of two: rank 1 tells `other` where that has the size of what rank 0 tells, and
// else the same as rank 0.
class Pair final : public comm::Collectives {
 public:
  explicit Pair(std::string other) : other_(std::move(other)) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Result<Ticket> Post(const comm::Operation& operation, comm::Memory input, comm::Memory output,
                      Stream*, Driver) override {
    own.assign(static_cast<const char*>(input.data), operation.bytes());
    auto* out = static_cast<char*>(output.data);
    std::memcpy(out, own.data(), own.size());
    std::memcpy(out + own.size(), (other_.size() == own.size() ? other_ : own).data(), own.size());
    return Ticket{};
  }
  bool Test(Ticket&) override { return true; }
  Status Complete(Ticket, const CallLimits&) override { return {}; }
  void Abort(std::string) override {}
  Status status() const override { return {}; }

  std::string own;

 private:
  const std::string other_;
};

graph::Module Module() {
  graph::Module out;
  out.graphs.emplace_back();
  out.variables.push_back({.name = "w", .dtype = DType::kFloat32, .dims = {2}});
  return out;
}

TEST(CompareRanks, TellsVersionsApart) {
  const graph::Module module = Module();
  Pair alike("");
  ASSERT_TRUE(CompareRanks(alike, module, 5, "1.2.3", {}).ok());
  Pair pair(alike.own);
  const Status status = CompareRanks(pair, module, 5, "1.2.4", {});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("rank 1 has version 1.2.3 of the library, rank 0 has 1.2.4"),
            std::string::npos);
}

TEST(CompareRanks, TellsVariablesAndSeedsApart) {
  graph::Module module = Module();
  Pair alike("");
  ASSERT_TRUE(CompareRanks(alike, module, 5, "1", {}).ok());
  Pair seeds(alike.own);
  EXPECT_NE(CompareRanks(seeds, module, 6, "1", {}).ToString().find("the seed 5, rank 0 has 6"),
            std::string::npos);
  module.variables[0].dtype = DType::kFloat64;
  Pair types(alike.own);
  EXPECT_NE(CompareRanks(types, module, 5, "1", {}).ToString().find("names, types or shapes"),
            std::string::npos);
}

}  // namespace
}  // namespace hr::session
