// Forest, LookUp and TfIdfVectorizer: what ai.onnx.ml's models are composed of.
#include <cmath>

#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using IntList = std::vector<int64_t>;

class MlTest : public KernelTest {
 protected:
  // A tree of three nodes: the first compares feature 1 with 0.5.
  static OneNodeRun& Tree(OneNodeRun& run, IntList nodes, IntList roots = {0},
                          IntList targets = {0, 1, 0}) {
    run.In<float>({5, 2}, {0, 0.5F, 1, 0, 2, 1, 3, NAN, 4, 40});
    run.Constant<int64_t>({static_cast<int64_t>(nodes.size()) / 7, 7}, nodes);
    run.Constant<float>({static_cast<int64_t>(nodes.size()) / 7},
                        std::vector<float>(nodes.size() / 7, 0.5F));
    run.Constant<int64_t>({static_cast<int64_t>(roots.size())}, roots);
    run.Constant<int64_t>({static_cast<int64_t>(targets.size())}, targets);
    run.Constant<float>({3}, {1.5F, -2, 0.25F}).Constant<float>({2}, {40, 0.5F});
    return run.With("n_targets", int64_t{2});
  }
  static IntList Nodes(int64_t mode, int64_t missing, int64_t yes = 1, int64_t no = 2) {
    return {mode, 1, yes, no, missing, 0, 2, 7, 0, 0, 1, 0, 0, 0, 7, 0, 1, 3, 0, 0, 0};
  }
};

TEST_P(MlTest, ForestOfEveryMode) {
  for (int64_t mode = 0; mode < 7; ++mode) {
    for (int64_t missing : {0, 1}) {
      for (int64_t aggregate = 0; aggregate < 4; ++aggregate) {
        OneNodeRun run("Forest", "headrace.ml");
        Tree(run, Nodes(mode, missing), {0, 2, 0}).With("aggregate", aggregate).Check(1e-6, 1e-6);
      }
    }
  }
}

TEST_P(MlTest, ForestRefusesHostileTrees) {
  const auto fails = [](const char* text, const IntList& nodes, const IntList& roots = {0},
                        const IntList& targets = {0, 1, 0}) {
    OneNodeRun run("Forest", "headrace.ml");
    ExpectFailure(Tree(run, nodes, roots, targets), text);
  };
  fails("goes on outside of what is behind it", Nodes(0, 0, 0, 2));
  fails("goes on outside of what is behind it", Nodes(0, 0, 1, 3));
  fails("goes on outside of what is behind it", Nodes(0, 0, -1, 2));
  fails("has the mode 8", Nodes(8, 0));
  fails("begins at node 3 of 3", Nodes(0, 0), {3});
  fails("target 2 of 2", Nodes(0, 0), {0}, {0, 2, 0});
  IntList nodes = Nodes(0, 0);
  nodes[1] = 2;
  fails("compares feature 2, but x has 2", nodes);
  nodes = Nodes(6, 0);
  nodes[6] = 3;
  fails("members that are not there", nodes);
  nodes = Nodes(0, 0);
  nodes[17] = 4;
  fails("goes on outside", nodes);
}

TEST_P(MlTest, LooksUp) {
  OneNodeRun run("LookUp", "headrace.ml");
  run.In<float>({2, 2}, {3, NAN, -0.0F, 7}).Constant<float>({4}, {NAN, 0, 3, 3});
  run.Constant<int64_t>({4}, {5, 6, 7, 8}).Constant<int64_t>({1}, {-1});
  EXPECT_EQ(ValuesOf<int64_t>(run.MustRun()[0]), (IntList{7, 5, 6, -1}));
  OneNodeRun none("LookUp", "headrace.ml");
  none.In<int16_t>({2}, {3, 4}).Constant<int16_t>({0}, {}).Constant<float>({0}, {});
  EXPECT_EQ(ValuesOf<float>(none.Constant<float>({1}, {2}).MustRun()[0]),
            (std::vector<float>{2, 2}));
}

TEST_P(MlTest, CountsNGrams) {
  for (int round = 0; round < Rounds(60) && !HasFatalFailure(); ++round) {
    const Dims dims = {RandomInt(1, 3), RandomInt(0, 12)};
    std::vector<int32_t> x;
    for (int64_t i = 0; i < ElementCount(dims); ++i) {
      x.push_back(static_cast<int32_t>(RandomInt(0, 2)));
    }
    OneNodeRun run("TfIdfVectorizer");
    run.In<int32_t>(dims, x).With("min_gram_length", RandomInt(1, 2));
    run.With("max_gram_length", RandomInt(2, 3)).With("max_skip_count", RandomInt(0, 4));
    run.With("ngram_counts", IntList{0, 2, 6}).With("ngram_indexes", IntList{4, 0, 1, 2, 3});
    run.With("pool_int64s", IntList{0, 2, 1, 0, 2, 2, 1, 0, 1}).Threads(2);
    run.With("mode", std::string(round % 2 == 0 ? "TFIDF" : "IDF"));
    run.With("weights", std::vector<double>{1, 2, 0.5, -1, 3}).Check(0, 0);
  }
}

TEST_P(MlTest, PoolsThatDoNotFit) {
  const auto count = [](IntList counts, IntList indexes, IntList pool) {
    OneNodeRun run("TfIdfVectorizer");
    run.In<int64_t>({3}, {1, 2, 3}).With("mode", std::string("TF"));
    run.With("min_gram_length", int64_t{1}).With("max_gram_length", int64_t{2});
    run.With("max_skip_count", int64_t{0}).With("ngram_counts", counts);
    return run.With("ngram_indexes", indexes).With("pool_int64s", pool).Failure();
  };
  EXPECT_EQ(count({0, 1}, {0, 1}, {1, 2, 3}), "");
  EXPECT_NE(count({0, 2}, {0, 1}, {1, 2, 3}).find("does not cut"), std::string::npos);
  EXPECT_NE(count({0, 9}, {0, 1}, {1, 2, 3}).find("does not cut"), std::string::npos);
  EXPECT_NE(count({0, 1}, {0}, {1, 2, 3}).find("2 n-grams and 1"), std::string::npos);
  EXPECT_NE(count({0, 1}, {0, -1}, {1, 2, 3}).find("columns from 0"), std::string::npos);
  EXPECT_NE(count({0, 1}, {0, int64_t{1} << 60}, {1, 2, 3}).find("columns from 0"),
            std::string::npos);
}

HR_KERNEL_TESTS(MlTest);

}  // namespace
}  // namespace hr::cpu
