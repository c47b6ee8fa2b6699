// Quantized numbers and their products.
#include <algorithm>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

constexpr DType kBytes[] = {DType::kInt8, DType::kUint8};
DType AnyByte(Draft& draft) { return kBytes[draft.rng().Index(2)]; }

// Where scales and zero points are: for all, along an axis, or for blocks of it.
struct Granularity {
  Dims dims;
  std::vector<NamedAttribute> attributes;
};

Granularity AnyGranularity(Draft& draft, const Known& x, int version) {
  if (x.rank() == 0 || version < 13 || draft.rng().Chance(40)) return {};
  const size_t axis = draft.rng().Index(x.rank());
  Granularity out{{x.dims[axis]}, {Int("axis", static_cast<int64_t>(axis))}};
  if (version < 21 || draft.rng().Chance(40)) return out;
  const int64_t block = draft.rng().Between(1, std::max<int64_t>(1, x.dims[axis]));
  out.dims = x.dims;
  out.dims[axis] = (x.dims[axis] + block - 1) / block;
  out.attributes.push_back(Int("block_size", block));
  return out;
}

std::string ZeroPoint(Draft& draft, DType dtype, const Dims& dims) {
  return draft.Leaf(dtype, dims, 0, 9);
}

std::string Quantize(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .low = -100, .high = 100});
  if (x.empty()) return "";
  const Known known = draft[x];
  Granularity of = AnyGranularity(draft, known, row.version);
  std::vector<DType> types = {DType::kInt8, DType::kUint8};
  if (row.version >= 21) types.insert(types.end(), {DType::kInt16, DType::kUint16});
  const DType to = draft.rng().Pick(types);
  std::vector<std::string> operands = {x, draft.Leaf(known.dtype, of.dims, 0.01, 2)};
  const bool by_attribute = row.version >= 21 && draft.rng().Chance(30);
  if (by_attribute) {
    of.attributes.push_back(Int("output_dtype", static_cast<int64_t>(to)));
  } else if (draft.rng().Chance(80)) {
    operands.push_back(ZeroPoint(draft, to, of.dims));
  }
  return draft.One(row.op, row.version, operands, of.attributes);
}

std::string Dequantize(Draft& draft, const Row& row) {
  std::string x = draft.Find([&](const Known& k) {
    return k.dtype == DType::kInt8 || k.dtype == DType::kUint8 ||
           (row.version >= 21 && (k.dtype == DType::kInt16 || k.dtype == DType::kUint16));
  });
  if (x.empty()) x = draft.Leaf(AnyByte(draft), draft.AnyDims(1, 4), -9, 9);
  const Known known = draft[x];
  Granularity of = AnyGranularity(draft, known, row.version);
  std::vector<std::string> operands = {x, draft.Leaf(DType::kFloat32, of.dims, 0.01, 2)};
  if (draft.rng().Chance(70)) operands.push_back(ZeroPoint(draft, known.dtype, of.dims));
  return draft.One(row.op, row.version, operands, of.attributes);
}

std::string DynamicQuantize(Draft& draft, const Row& row) {
  // Noise would decide whether zeros are any.
  std::string x = draft.Find([](const Known& k) {
    return k.dtype == DType::kFloat32 && k.low > -1e6 && k.high < 1e6 &&
           std::max(k.high, -k.low) > 1e-3;
  });
  if (x.empty()) x = draft.Leaf(DType::kFloat32, draft.AnyDims(1, 4));
  const auto names = draft.Node(row.op, row.version, {x}, 3);
  return names.empty() ? "" : names[0];
}

// [a, scale, zero point], or without the scale.
void AddNumber(Draft& draft, std::vector<std::string>& operands, const std::string& x,
               const Dims& each) {
  operands.push_back(x);
  operands.push_back(draft.Leaf(DType::kFloat32, each, 0.01, 0.5));
  operands.push_back(ZeroPoint(draft, draft[x].dtype, each));
}

std::string Bytes(Draft& draft, const Dims& dims) {
  return draft.Leaf(AnyByte(draft), dims, -9, 9);
}

// The operands of a product of integers, or of scaled ones, from those of one that has both.
std::string Product(Draft& draft, const Row& row, const std::string& a, const std::string& b,
                    const Dims& a_each, const Dims& b_each, int64_t biases,
                    std::vector<NamedAttribute> attributes) {
  if (a.empty() || b.empty()) return "";
  const bool integer = std::string_view(row.op).find("Integer") != std::string_view::npos;
  std::vector<std::string> operands;
  if (integer) {
    operands = {a, b};
    if (draft.rng().Chance(70)) {
      operands.push_back(ZeroPoint(draft, draft[a].dtype, a_each));
      if (draft.rng().Chance(60)) operands.push_back(ZeroPoint(draft, draft[b].dtype, b_each));
    }
  } else {
    AddNumber(draft, operands, a, a_each);
    AddNumber(draft, operands, b, b_each);
    operands.push_back(draft.Leaf(DType::kFloat32, {}, 0.05, 2));
    operands.push_back(ZeroPoint(draft, AnyByte(draft), {}));
    if (biases != 0 && draft.rng().Chance(50)) {
      operands.push_back(draft.Leaf(DType::kInt32, {biases}, -9, 9));
    }
  }
  return draft.One(row.op, row.version, operands, std::move(attributes));
}

std::string MatMul(Draft& draft, const Row& row) {
  const int64_t m = draft.rng().Between(1, 9), k = draft.rng().Between(1, 20),
                n = draft.rng().Between(1, 9);
  const bool rows = draft.rng().Chance(30), columns = draft.rng().Chance(30);
  const Dims front = draft.rng().Chance(30) ? Dims{draft.batch()} : Dims{};
  Dims a = front;
  a.insert(a.end(), {m, k});
  return Product(draft, row, Bytes(draft, a), Bytes(draft, {k, n}), rows ? Dims{m} : Dims{},
                 columns ? Dims{n} : Dims{}, 0, {});
}

std::string Conv(Draft& draft, const Row& row) {
  const int64_t channels = draft.rng().Between(1, 4), out = draft.rng().Between(1, 5);
  Known images{.dims = {draft.batch(), channels, draft.rng().Between(1, 6)}};
  if (draft.rng().Chance(70)) images.dims.push_back(draft.rng().Between(1, 6));
  const std::vector<int64_t> kernel = Kernel(draft, images);
  Dims weights = {out, channels};
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(40)) {
    std::vector<int64_t> pads(2 * kernel.size());
    for (size_t i = 0; i < pads.size(); ++i) {
      pads[i] = draft.rng().Between(0, kernel[i % kernel.size()] - 1);
    }
    attributes.push_back(List("pads", pads));
  }
  if (draft.rng().Chance(40)) {
    attributes.push_back(List("strides", std::vector<int64_t>(kernel.size(), 2)));
  }
  const bool filters = draft.rng().Chance(40);
  return Product(draft, row, Bytes(draft, images.dims), Bytes(draft, weights), {},
                 filters ? Dims{out} : Dims{}, out, attributes);
}

// ---- Chains, as quantization writes them ----

// What often follows a product of so many columns.
std::string Behind(Draft& draft, std::string y, int64_t columns) {
  if (draft.rng().Chance(60)) {
    y = draft.One("Add", 14, {y, draft.Leaf(DType::kFloat32, {columns}, -1, 1)});
  }
  if (!y.empty() && draft.rng().Chance(40)) y = draft.One("Relu", 14, {y});
  return y;
}

std::string Rows(Draft& draft, int64_t* inner) {
  std::string x = draft.Find([](const Known& k) {
    return k.dtype == DType::kFloat32 && k.rank() >= 2 && k.rank() <= 3 && k.low > -100 &&
           k.high < 100 && std::max(k.high, -k.low) > 1e-3;
  });
  if (x.empty()) x = draft.Leaf(DType::kFloat32, {draft.batch(), draft.rng().Between(1, 20)});
  *inner = draft[x].dims.back();
  return x;
}

std::string DynamicChain(Draft& draft, const Row& row) {
  int64_t k = 0;
  const std::string x = Rows(draft, &k);
  const int64_t n = draft.rng().Between(1, 9);
  const auto numbers = draft.Node("DynamicQuantizeLinear", 11, {x}, 3);
  if (numbers.empty()) return "";
  const std::string w = draft.Leaf(DType::kInt8, {k, n}, -9, 9);
  std::string y = draft.One(row.op, row.version, {numbers[0], w, numbers[2]});
  if (!y.empty()) y = draft.One("Cast", 13, {y}, {Int("to", 1)});
  if (y.empty()) return "";
  const Dims each = draft.rng().Chance(50) ? Dims{n} : Dims{};
  const std::string scale =
      draft.One("Mul", 14, {numbers[1], draft.Leaf(DType::kFloat32, each, 0.01, 0.1)});
  if (!scale.empty()) y = draft.One("Mul", 14, {y, scale});
  return scale.empty() || y.empty() ? "" : Behind(draft, y, n);
}

std::string StaticChain(Draft& draft, const Row& row) {
  int64_t k = 0;
  const std::string x = Rows(draft, &k);
  const int64_t n = draft.rng().Between(1, 9);
  const std::vector<std::string> of_x = {draft.Leaf(DType::kFloat32, {}, 0.1, 0.9),
                                         ZeroPoint(draft, DType::kUint8, {})};
  std::string y = draft.One("QuantizeLinear", 13, {x, of_x[0], of_x[1]});
  if (!y.empty()) y = draft.One(row.op, row.version, {y, of_x[0], of_x[1]});
  if (y.empty()) return "";
  const std::string w = draft.One(
      row.op, row.version,
      {draft.Leaf(DType::kInt8, {k, n}, -9, 9), draft.Leaf(DType::kFloat32, {n}, 0.01, 0.1)},
      {Int("axis", 1)});
  if (!w.empty()) y = draft.One("MatMul", 13, {y, w});
  if (!w.empty() && !y.empty()) y = Behind(draft, y, n);
  if (w.empty() || y.empty() || draft.rng().Chance(30)) return w.empty() ? "" : y;
  return draft.One(
      "QuantizeLinear", 13,
      {y, draft.Leaf(DType::kFloat32, {}, 0.1, 0.9), ZeroPoint(draft, AnyByte(draft), {})});
}

// Rows of a table that is dequantized.
std::string Table(Draft& draft, const Row& row) {
  const int64_t rows = draft.rng().Between(1, 12);
  const Dims each = draft.rng().Chance(60) ? Dims{rows} : Dims{};
  std::vector<std::string> operands = {Bytes(draft, {rows, draft.rng().Between(1, 20)}),
                                       draft.Leaf(DType::kFloat32, each, 0.01, 0.5)};
  if (draft.rng().Chance(50)) operands.push_back(ZeroPoint(draft, draft[operands[0]].dtype, each));
  const std::string table = draft.One(row.op, row.version, operands, {Int("axis", 0)});
  if (table.empty()) return "";
  return draft.One("Gather", 13, {table, draft.Indices(draft.AnyDims(0, 2), rows)});
}

const Row kQuantizedRows[] = {
    {"QuantizeLinear", 10, Quantize},
    {"QuantizeLinear", 13, Quantize},
    {"QuantizeLinear", 21, Quantize},
    {"QuantizeLinear", 23, Quantize},
    {"DequantizeLinear", 10, Dequantize},
    {"DequantizeLinear", 13, Dequantize},
    {"DequantizeLinear", 21, Dequantize, kFloats, 0, 0, 3},
    {"DequantizeLinear", 23, Dequantize},
    {"DynamicQuantizeLinear", 11, DynamicQuantize},
    {"MatMulInteger", 10, MatMul},
    {"MatMulInteger", 10, DynamicChain},
    {"DequantizeLinear", 13, StaticChain},
    {"DequantizeLinear", 13, Table, kFloats, 0, 0, 2},
    {"QLinearMatMul", 10, MatMul},
    {"QLinearMatMul", 21, MatMul},
    {"ConvInteger", 10, Conv},
    {"QLinearConv", 10, Conv, kFloats, 0, 0, 2},
};

}  // namespace

std::span<const Row> QuantizedRows() { return kQuantizedRows; }

}  // namespace hr::random_graphs
