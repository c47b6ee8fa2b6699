// What the tests of the C++ wrapper share.
#ifndef HEADRACE_TESTS_CPP_SUPPORT_H_
#define HEADRACE_TESTS_CPP_SUPPORT_H_

#include <cstdio>
#include <headrace/headrace.hpp>

extern "C" {
#include "support.h"
}

using Names = std::vector<std::string>;

// The call throws an hr::Error with the code and the words.
template <typename Function>
void throws(const Function& function, hr_code code, const char* words) {
  try {
    function();
  } catch (const hr::Error& error) {
    if (error.code() == code && std::strstr(error.message(), words) != nullptr) return;
    std::fprintf(stderr, "expected %s with '%s', got %s\n", hr_code_name(code), words,
                 error.what());
    std::exit(1);
  }
  std::fprintf(stderr, "expected %s with '%s', nothing was thrown\n", hr_code_name(code), words);
  std::exit(1);
}

inline bool has(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

struct Folder {
  char* path = make_folder();
  ~Folder() { remove_folder(path); }
  std::string operator/(const char* name) const { return std::string(path) + "/" + name; }
};

inline std::vector<float> floats(const hr::Tensor& tensor) {
  EXPECT(tensor.dtype() == HR_FLOAT32);
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

// "train": x [batch, 2], target [batch, 1], rate; loss, the mean squared error. "eval": the same
// loss. "infer": x; y = Relu(x · w1 + b1) · w2 + b2.
inline hr::Graph network(const hr::Env& env) {
  hr::Graph graph(env);
  const hr_value x = graph.input("x", HR_FLOAT32, {-1, 2}, {"batch", ""});
  const hr_value target = graph.input("target", HR_FLOAT32, {-1, 1}, {"batch", ""});
  const hr_value rate = graph.input("rate", HR_FLOAT32, {});
  const hr_value y = graph.dense("out", graph.op("Relu", {graph.dense("hidden", x, 8)}), 1);
  const hr_value error = graph.op("Sub", {y, target});
  const hr_value loss = graph.op("ReduceMean", {graph.op("Mul", {error, error})}, "keepdims=0");
  graph.name(y, "y");
  for (const char* signature : {"train", "eval"}) {
    graph.signature_input(signature, "x", x).signature_input(signature, "target", target);
    graph.signature_output(signature, "loss", loss);
  }
  graph.signature_input("train", "rate", rate);
  graph.minimize("train", loss, "sgd momentum=0.9", rate);
  graph.signature_input("infer", "x", x).signature_output("infer", "y", y);
  graph.set_metadata("author", "the tests");
  return graph;
}

// Points of a square, and the product of their coordinates.
inline constexpr int kPoints = 64;
struct Data {
  hr::Tensor x, target;
  explicit Data(const hr::Env& env)
      : x(env, HR_FLOAT32, {kPoints, 2}), target(env, HR_FLOAT32, {kPoints, 1}) {
    for (int i = 0; i < kPoints; ++i) {
      const float a = static_cast<float>(i % 8) / 4 - 1, b = static_cast<float>(i / 8) / 4 - 1;
      x.data<float>()[2 * i] = a;
      x.data<float>()[2 * i + 1] = b;
      target.data<float>()[i] = a * b;
    }
  }
};

inline hr::Dataset batches(const hr::Env& env, int64_t repeat) {
  const Data data(env);
  hr_dataset_options options{};
  options.batch = 16;
  options.shuffle = 1;
  options.seed = 3;
  options.repeat = repeat;
  return hr::Dataset::from_tensors(env, {{"x", &data.x}, {"target", &data.target}}, options);
}

#endif
