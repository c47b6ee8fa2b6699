// Values made of attributes, shapes, chance and variables.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

std::string ShapeOf(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = kAny, .least_rank = 1});
  if (x.empty()) return "";
  std::vector<NamedAttribute> attributes;
  if (row.version >= 15 && draft.rng().Chance(40))
    attributes.push_back(Int("start", draft.rng().Between(-1, 0)));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string Constant(Draft& draft, const Row& row) {
  const NamedAttribute value[] = {Float("value_float", 0.75),
                                  Int("value_int", 3),
                                  {"value_floats", std::vector<double>{0.5, -1.25}, ""},
                                  List("value_ints", {2, 3, 5})};
  const size_t choice = draft.rng().Index(5);
  if (choice < 4) return draft.One(row.op, row.version, {}, {value[choice]});
  const std::string tensor = draft.Constant(draft.AnyType(kFloats), {3}, {0.25, 1.5, -2});
  return draft.One(row.op, row.version, {}, {{"value", {}, "@" + tensor}});
}

std::string ConstantOfShape(Draft& draft, const Row& row) {
  const Dims dims = draft.AnyDims(1, 3);
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(70)) {
    const std::string value = draft.Constant(draft.AnyType(kNumbers), {1}, {1});
    attributes.push_back({"value", {}, "@" + value});
  }
  // Half of them of the shape of another value.
  const std::string shape =
      draft.rng().Chance(50)
          ? draft.One("Shape", 13, {draft.Operand({.types = kAny, .least_rank = 1})})
          : draft.Ints(dims);
  return draft.One(row.op, row.version, {shape}, attributes);
}

std::string Range(Draft& draft, const Row& row) {
  const DType dtype = draft.AnyType(row.types);
  const auto count = static_cast<double>(draft.rng().Between(1, 9));
  return draft.One(row.op, row.version,
                   {draft.Constant(dtype, {}, {1}), draft.Constant(dtype, {}, {1 + 2 * count}),
                    draft.Constant(dtype, {}, {2})});
}

std::string EyeLike(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .least_rank = 2, .most_rank = 2});
  if (x.empty()) return "";
  std::vector<NamedAttribute> attributes = {Int("k", draft.rng().Between(-2, 2))};
  if (draft.rng().Chance(30))
    attributes.push_back(Int("dtype", static_cast<int64_t>(draft.AnyType(kNumbers))));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::vector<NamedAttribute> Distribution(Draft& draft, const Row& row) {
  const bool uniform = std::string(row.op).find("Uniform") != std::string::npos;
  if (draft.rng().Chance(50)) return {};
  if (uniform) return {Float("low", -1.5), Float("high", 0.5)};
  return {Float("mean", 0.25), Float("scale", 1.5)};
}

std::string Random(Draft& draft, const Row& row) {
  auto attributes = Distribution(draft, row);
  attributes.push_back(List("shape", draft.AnyDims(0, 3)));
  if (draft.rng().Chance(50))
    attributes.push_back(Int("dtype", static_cast<int64_t>(draft.AnyType(kReal))));
  return draft.One(row.op, row.version, {}, attributes);
}

std::string RandomLike(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {draft.Operand({.types = kReal})},
                   Distribution(draft, row));
}

// Of leaves: a probability that is rounded otherwise may turn a draw.
std::string Bernoulli(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version,
                   {draft.Input(draft.AnyType(kReal), draft.AnyDims(1, 3), 0, 1)});
}
std::string Multinomial(Draft& draft, const Row& row) {
  const std::string x =
      draft.Input(draft.AnyType(kReal), {draft.batch(), draft.rng().Between(1, 9)}, -3, 0);
  return draft.One(row.op, row.version, {x}, {Int("sample_size", draft.rng().Between(1, 5))});
}

std::string Dropout(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = kReal});
  if (x.empty()) return "";
  std::vector<std::string> operands = {x};
  if (draft.rng().Chance(80)) operands.push_back(draft.Constant(draft.AnyType(kReal), {}, {0.375}));
  if (operands.size() > 1 && draft.rng().Chance(80))
    operands.push_back(draft.Constant(DType::kBool, {}, {draft.rng().Chance(80) ? 1.0 : 0.0}));
  const auto names = draft.Node(row.op, row.version, operands, 2);
  return names.empty() ? "" : names[0];
}

// Writes a variable of the value's type; reads of it come before and after.
std::string Write(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .low = -20, .high = 20});
  if (x.empty()) return "";
  const Known known = draft[x];
  std::string variable = draft.Find([&](const Known& k) {
    return k.name[0] == 'v' && k.dtype == known.dtype && k.dims == known.dims;
  });
  if (variable.empty()) {
    const bool floating = IsFloating(known.dtype);
    variable = draft.Variable(known.dtype, known.dims, floating ? -1 : 0, 1);
  }
  draft.Node(row.op, row.version, {x}, 0, {{"variable", {}, "%" + variable}});
  return draft.One("Identity", 13, {variable});
}

const Row kGenerateRows[] = {
    {"Shape", 13, ShapeOf, kAny},
    {"Shape", 15, ShapeOf, kAny},
    {"Size", 13, ShapeOf, kAny},
    {"Constant", 13, Constant},
    {"ConstantOfShape", 9, ConstantOfShape},
    {"Range", 11, Range, kReal | kWords},
    {"EyeLike", 9, EyeLike, kNumbers},
    {"headrace.state.Assign", 1, Write, kAny},
    {"headrace.state.AssignAdd", 1, Write, kFloats | kWords},
};

const Row kRandomRows[] = {
    {"RandomUniform", 1, Random},
    {"RandomNormal", 1, Random},
    {"RandomUniformLike", 1, RandomLike},
    {"RandomNormalLike", 1, RandomLike},
    {"Bernoulli", 15, Bernoulli},
    {"Multinomial", 7, Multinomial},
    {"Dropout", 13, Dropout, kReal, 0, 0, 3},
};

}  // namespace

std::span<const Row> GenerateRows() { return kGenerateRows; }
std::span<const Row> RandomRows() { return kRandomRows; }

}  // namespace hr::random_graphs
