// Products of bfloat16, as networks of it and as mixed precision write them, with what follows.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

std::string CastTo(Draft& draft, const std::string& x, DType to) {
  return draft.One("Cast", 13, {x}, {Int("to", static_cast<int64_t>(to))});
}

// Numbers of bfloat16, or of float32 that are some of it.
std::string In(Draft& draft, const std::string& x, bool mixed) {
  const bool is = !x.empty() && draft[x].dtype == DType::kBfloat16;
  const std::string rounded = x.empty() || is ? x : CastTo(draft, x, DType::kBfloat16);
  return rounded.empty() || !mixed ? rounded : CastTo(draft, rounded, DType::kFloat32);
}

std::string Operand(Draft& draft, Dims dims, bool mixed) {
  return In(draft, Weights(draft, draft.AnyType(kHalves | kFloats), std::move(dims)), mixed);
}

// What often follows: a row or an image that is added, a Relu, another type.
std::string Behind(Draft& draft, std::string y, const Dims& bias, bool mixed) {
  if (!y.empty() && draft.rng().Chance(60)) {
    const DType dtype = draft[y].dtype;
    y = draft.One("Add", 14, {y, Weights(draft, dtype, bias)});
  }
  if (!y.empty() && draft.rng().Chance(40)) y = draft.One("Relu", 14, {y});
  if (y.empty() || draft.rng().Chance(40)) return y;
  return CastTo(draft, y, mixed ? DType::kBfloat16 : DType::kFloat32);
}

std::string Rows(Draft& draft) {
  std::string x = draft.Find([](const Known& k) {
    return (KindOf(k.dtype) & kReal) != 0 && k.rank() >= 2 && k.rank() <= 3 && k.low > -4 &&
           k.high < 4 && k.dims.back() <= 20;
  });
  const Dims dims = {draft.batch(), draft.rng().Between(1, 20)};
  return x.empty() ? draft.Leaf(draft.AnyType(kHalves | kFloats), dims) : x;
}

std::string Product(Draft& draft, const Row& row) {
  const bool mixed = draft.rng().Chance(50), gemm = std::string_view(row.op) == "Gemm";
  const std::string x = In(draft, Rows(draft), mixed);
  if (x.empty() || (gemm && draft[x].rank() != 2)) return "";
  const int64_t k = draft[x].dims.back(), n = draft.rng().Between(1, 40);
  const bool turned = gemm && draft.rng().Chance(50);
  std::vector<std::string> operands = {x, Operand(draft, turned ? Dims{n, k} : Dims{k, n}, mixed)};
  if (gemm && draft.rng().Chance(60)) operands.push_back(Weights(draft, draft[x].dtype, {n}));
  std::vector<NamedAttribute> attributes;
  if (turned) attributes.push_back(Int("transB", 1));
  return Behind(draft, draft.One(row.op, row.version, operands, attributes), {n}, mixed);
}

// One or two convolutions of so many filters and taps that the processor's instructions are worth
// it, most often, with an image that is added between them.
std::string Conv(Draft& draft, const Row& row) {
  const bool mixed = draft.rng().Chance(50);
  const int64_t channels = draft.rng().Between(6, 12), filters = draft.rng().Between(14, 20);
  const int64_t side = draft.rng().Between(1, 5), width = draft.rng().Between(2, 6);
  const Dims image = {draft.rng().Between(1, 3), channels, side, width};
  const std::string x = Operand(draft, image, mixed);
  const std::string w = Operand(draft, {filters, channels, std::min<int64_t>(2, side), 2}, mixed);
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(50)) {
    const auto pad = [&] { return draft.rng().Between(0, 1); };
    attributes = {List("pads", {pad(), pad(), pad(), pad()}),
                  List("strides", {1 + pad(), 1 + pad()}),
                  List("dilations", {1, width > 2 ? 1 + pad() : 1})};
  }
  std::string y =
      Behind(draft, draft.One(row.op, row.version, {x, w}, attributes), {filters, 1, 1}, mixed);
  if (y.empty() || draft.rng().Chance(60)) return y;
  const std::string between = In(draft, y, mixed);
  const std::string again = Operand(draft, {filters, filters, 1, 1}, mixed);
  const std::string z = draft.One(row.op, row.version, {between, again});
  const bool fits =
      !z.empty() && draft[z].dtype == draft[y].dtype && draft[z].dims == draft[y].dims;
  return fits ? draft.One("Relu", 14, {draft.One("Add", 14, {z, y})}) : z;
}

const Row kRows[] = {
    {"MatMul", 13, Product, kReal, 0, 0, 3},
    {"Gemm", 13, Product, kReal, 0, 0, 2},
    {"Conv", 11, Conv},
};

}  // namespace

std::span<const Row> Bfloat16Rows() { return kRows; }

}  // namespace hr::random_graphs
