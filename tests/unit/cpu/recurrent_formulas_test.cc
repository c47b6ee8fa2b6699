// RNN, GRU and LSTM with their gradients, by the numbers of PyTorch's formulas
// (tests/reference/recurrent_formulas.json, made by recurrent_formulas.py, which documents the
// recipe).
#include <fstream>
#include <sstream>

#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

// The numbers of `"key": [ … ]` in the JSON file.
std::vector<double> Expected(const std::string& key) {
  std::stringstream file;
  file << std::ifstream(HEADRACE_SOURCE_DIR "/tests/reference/recurrent_formulas.json").rdbuf();
  const std::string text = file.str();
  std::vector<double> out;
  const size_t at = text.find("\"" + key + "\": [");
  if (at == std::string::npos) return out;
  const size_t begin = text.find('[', at) + 1;
  std::stringstream numbers(text.substr(begin, text.find(']', begin) - begin));
  double value = 0;
  while (numbers >> value) {
    out.push_back(value);
    numbers.ignore(1);
  }
  return out;
}

// Array number `s` of the recipe.
Tensor Recipe(const Dims& dims, int64_t s) {
  std::vector<double> values;
  for (int64_t i = 0; i < ElementCount(dims); ++i) {
    values.push_back(static_cast<double>((37 * i + 11 * s) % 97) / 97 - 0.5);
  }
  return OneNodeRun::Make(dims, values);
}

void ExpectNumbers(const Tensor& got, const std::string& key) {
  const std::vector<double> expected = Expected(key), values = ValuesOf<double>(got);
  ASSERT_EQ(values.size(), expected.size()) << key;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-13 * (1 + std::abs(expected[i]))) << key << " " << i;
  }
}

class RecurrentFormulas : public testing::TestWithParam<std::pair<const char*, int64_t>> {};

TEST_P(RecurrentFormulas, ForwardAndBackward) {
  const auto [cell, gates] = GetParam();
  const bool lstm = gates == 4;
  const Dims state = {2, 3, 3}, y = {4, 2, 3, 3};
  const Tensor x = Recipe({4, 3, 2}, 0), w = Recipe({2, gates * 3, 2}, 1);
  const Tensor r = Recipe({2, gates * 3, 3}, 2), bias = Recipe({2, gates * 6}, 3);
  const auto finish = [&](OneNodeRun& run) {
    run.With("direction", std::string("bidirectional"));
    if (gates == 3) run.With("linear_before_reset", int64_t{1});
    return run.MustRun();
  };
  OneNodeRun layer(cell);
  layer.In(x).In(w).In(r).In(bias).Omit().In(Recipe(state, 4)).Outputs(lstm ? 4 : 3);
  if (lstm) layer.In(Recipe(state, 5));
  const std::vector<Tensor> outputs = finish(layer);
  const std::string name = cell;
  ExpectNumbers(outputs[0], name + ".y");
  ExpectNumbers(outputs[1], name + ".y_h");
  if (lstm) ExpectNumbers(outputs[2], name + ".y_c");

  std::vector<double> weights;
  for (int64_t i = 0; i < ElementCount(y); ++i) {
    weights.push_back(static_cast<double>(13 * i % 29) / 29);
  }
  const std::vector<double> ones(18, 1);
  OneNodeRun grad(name + "Grad", "headrace.grad");
  grad.In(outputs.back()).In(x).In(w).In(r).Omit().In(Recipe(state, 4));
  if (lstm) grad.In(Recipe(state, 5)).Omit();
  grad.In(y, weights).In(state, ones).Outputs(lstm ? 7 : 5);
  if (lstm) grad.In(state, ones);
  const std::vector<Tensor> grads = finish(grad);
  const char* const kNames[] = {".dw", ".dr", ".dbias", ".dinitial_h"};
  for (size_t i = 0; i < 4; ++i) ExpectNumbers(grads[i], name + kNames[i]);
  if (lstm) ExpectNumbers(grads[4], name + ".dinitial_c");
  ExpectNumbers(grads.back(), name + ".dx");
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentFormulas,
                         testing::Values(std::pair<const char*, int64_t>{"RNN", 1},
                                         std::pair<const char*, int64_t>{"GRU", 3},
                                         std::pair<const char*, int64_t>{"LSTM", 4}),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace hr::cpu
