// A small module that uses everything the schema has.
#pragma once

#include <cstring>
#include <string>

#include "runtime/graph/graph.h"

namespace hr::format {

inline Tensor FloatTensor(Dims dims, float first) {
  Tensor tensor = Tensor::Create(SystemAllocator(), DType::kFloat32, std::move(dims)).value();
  for (float& x : tensor.span<float>()) x = first++;
  return tensor;
}

// main: y = Gemm(x, scale, bias read from a variable), with a subgraph, effects and every
// attribute.
inline graph::Module SampleModule() {
  using namespace graph;
  Module m;
  m.producer = "sample 1";
  m.opsets = {{"", 13}, {"headrace.state", 1}};
  m.metadata = {{"author", "somebody"}, {"empty", ""}};
  m.operators = {{"", "Gemm", 13}, {"headrace.state", "Read", 1}, {"", "Loop", 13}};
  m.symbols = {{"batch", 1, 512, {32, 128, 512}}, {"length", 0, kUnknownDim, {}}};
  m.constants = {FloatTensor({3, 2}, 1), FloatTensor({2}, 10), FloatTensor({}, 42)};
  m.variables = {{"bias", DType::kFloat32, {2}, true, 1, kNone},
                 {"step", DType::kInt64, {}, false, kNone, 1}};

  Graph& main = m.main();
  Dim batch{.symbol = 0};
  ValueType rows{.dtype = DType::kFloat32, .ranked = true, .dims = {batch, {.size = 3}}};
  ValueType out{.dtype = DType::kFloat32, .ranked = true, .dims = {batch, {.size = 2}}};
  main.values = {
      {.type = rows, .name = "x"},
      {.type = ValueType::Tensor(DType::kFloat32, {3, 2}), .constant = 0, .name = "scale"},
      {.type = ValueType::Tensor(DType::kFloat32, {2}), .producer = 0, .name = "bias"},
      {.type = out, .producer = 1, .name = "y"},
      {.type = {.dtype = DType::kInt64, .ranked = true, .dims = {{}}}, .producer = 2},
      {.type = {.dtype = DType::kFloat32, .kind = ValueKind::kSequence}, .producer = 2},
  };
  Node read{.op = 1, .outputs = {2}, .attributes = {{"variable", int64_t{0}}}, .name = "read"};
  Node gemm{.op = 0, .inputs = {0, 1, 2}, .outputs = {3}, .name = "gemm"};
  gemm.attributes = {{"alpha", 0.5},
                     {"negative_zero", -0.0},
                     {"transB", int64_t{0}},
                     {"least", INT64_MIN},
                     {"mode", std::string("two\0parts", 9)},
                     {"empty", std::string()},
                     {"pads", std::vector<int64_t>{-1, 0, 1}},
                     {"none", std::vector<int64_t>{}},
                     {"scales", std::vector<double>{1.5, -2.25}},
                     {"words", std::vector<std::string>{"a", "", "ccc"}},
                     {"value", TensorIndex{2}}};
  gemm.device = "CPU:0";
  Node loop{.op = 2, .inputs = {kNone, 3}, .outputs = {4, kNone, 5}, .controls = {1, 0}};
  loop.attributes = {{"body", GraphIndex{2}}};
  main.nodes = {read, gemm, loop};
  main.inputs = {0};

  Graph initial;
  initial.values = {{.type = ValueType::Tensor(DType::kInt64, {}), .producer = 0}};
  initial.nodes = {{.op = 1, .outputs = {0}}};
  initial.outputs = {0};
  Graph body;
  body.values = {{.type = ValueType::Unranked(DType::kFloat32), .name = "carried"}};
  body.inputs = {0};
  body.outputs = {0};
  m.graphs.push_back(initial);
  m.graphs.push_back(body);

  m.signatures = {{"infer", {{"x", 0}}, {{"y", 3}}, {}}, {"train", {{"x", 0}}, {}, {2, 1}}};
  return m;
}

// A buffer of this text, 64-byte aligned.
inline BufferRef BufferOf(std::string_view text) {
  BufferRef buffer = AllocateBuffer(SystemAllocator(), text.size()).value();
  std::memcpy(buffer->data(), text.data(), text.size());
  return buffer;
}

}  // namespace hr::format
