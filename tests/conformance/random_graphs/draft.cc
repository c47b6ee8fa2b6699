#include "tests/conformance/random_graphs/draft.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/transform/compose.h"

namespace hr::random_graphs {
namespace {

using graph::kNone;
using reference::Array;

constexpr int64_t kMostElements = 1500;

double Largest(DType dtype) {
  if (dtype == DType::kFloat16 || dtype == DType::kBfloat16) return 100;
  return IsFloating(dtype) ? 3000 : 1e18;
}

std::vector<DType> TypesOf(unsigned kinds) {
  std::vector<DType> out;
  for (int code = 0; code < 32; ++code) {
    const auto dtype = static_cast<DType>(code);
    if (IsSupported(dtype) && (KindOf(dtype) & kinds) != 0) out.push_back(dtype);
  }
  return out;
}

bool BroadcastsTogether(const Dims& a, const Dims& b) {
  auto dims = BroadcastDims(a, b);
  return dims.ok() && ElementCount(*dims) <= kMostElements;
}

}  // namespace

unsigned KindOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64: return kFloats;
    case DType::kFloat16:
    case DType::kBfloat16: return kHalves;
    case DType::kInt32:
    case DType::kInt64: return kWords;
    case DType::kBool: return kBools;
    default: return IsFloat8(dtype) ? 0u : unsigned{kSmalls};
  }
}

Draft::Draft(const ops::OpRegistry& registry, uint64_t seed)
    : registry_(registry), rng_(seed), assembler_(registry) {
  const int64_t type = rng_.Between(0, 99);
  main_type_ = type < 55   ? DType::kFloat32
               : type < 82 ? DType::kFloat64
               : type < 91 ? AnyType(kHalves)
                           : AnyType(kIntegers);
  // Blocks of a batch hold 8 (float64) or 16 (float32) images.
  batch_ = rng_.Pick<int64_t>({1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33});
  for (int i = 0; i < 3; ++i)
    sizes_.push_back(rng_.Pick<int64_t>({1, 2, 3, 4, 5, 6, 7, 9, 13, 16, 17, 33}));
  sizes_.push_back(1);
}

const Known& Draft::operator[](const std::string& name) const {
  for (const Known& known : known_) {
    if (known.name == name) return known;
  }
  return known_.front();
}

DType Draft::AnyType(unsigned types) { return rng_.Pick(TypesOf(types)); }

Dims Draft::AnyDims(size_t least_rank, size_t most_rank) {
  const auto rank = static_cast<size_t>(
      rng_.Between(static_cast<int64_t>(least_rank), static_cast<int64_t>(most_rank)));
  Dims dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(i == 0 && rng_.Chance(70) ? batch_ : rng_.Pick(sizes_));
  for (size_t i = rank; i-- > 0 && ElementCount(dims) > kMostElements;) dims[i] = 1;
  return dims;
}

Dims Draft::SmallerDims(const Dims& dims) {
  Dims out(dims);
  for (int64_t& d : out) d = rng_.Chance(25) ? 1 : d;
  const auto cut = rng_.Chance(35) ? rng_.Index(out.size() + 1) : 0;
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(cut));
  return out;
}

// ---- Leaves ----

std::string Draft::AddLeaf(Statement::Kind kind, Data data) {
  const char* prefix = kind == Statement::Kind::kInput      ? "x"
                       : kind == Statement::Kind::kConstant ? "c"
                                                            : "v";
  Statement statement{.kind = kind, .results = {Name(prefix)}, .data = std::move(data)};
  const std::string name = statement.results[0];
  return Add(std::move(statement)) ? name : "";
}

std::string Draft::Leaf(DType dtype, Dims dims, double low, double high) {
  const int64_t choice = rng_.Between(0, 99);
  Data data{.dtype = dtype, .dims = std::move(dims), .low = low, .high = high, .seed = rng_.Next()};
  if (!IsFloating(dtype)) {
    const bool is_unsigned = !IsInteger(dtype) || DTypeName(dtype)[0] == 'u';
    data.kind = "integers";
    data.low = std::max(std::ceil(low), is_unsigned ? 0.0 : -9.0);
    data.high = std::min(std::floor(high), dtype == DType::kBool ? 1.0 : 9.0);
  } else if (rng_.Chance(8) && std::floor(high) > std::ceil(low)) {
    data.kind = "integers";
    data.low = std::ceil(low);
    data.high = std::floor(high);
  }
  const auto kind = choice < 60                         ? Statement::Kind::kInput
                    : choice < 85 || !IsFloating(dtype) ? Statement::Kind::kConstant
                                                        : Statement::Kind::kVariable;
  return AddLeaf(kind, std::move(data));
}

std::string Draft::Input(DType dtype, Dims dims, double low, double high) {
  const char* kind = IsFloating(dtype) ? "uniform" : "integers";
  return AddLeaf(Statement::Kind::kInput,
                 {dtype, std::move(dims), kind, low, high, rng_.Next(), {}});
}

std::string Draft::Variable(DType dtype, Dims dims, double low, double high) {
  const char* kind = IsFloating(dtype) ? "uniform" : "integers";
  return AddLeaf(Statement::Kind::kVariable,
                 {dtype, std::move(dims), kind, low, high, rng_.Next(), {}});
}

std::string Draft::Constant(DType dtype, Dims dims, std::vector<double> values) {
  return AddLeaf(
      Statement::Kind::kConstant,
      {.dtype = dtype, .dims = std::move(dims), .kind = "values", .values = std::move(values)});
}

std::string Draft::Ints(const std::vector<int64_t>& values) {
  return Constant(DType::kInt64, {static_cast<int64_t>(values.size())},
                  {values.begin(), values.end()});
}

std::string Draft::Indices(Dims dims, int64_t size, bool negative) {
  const bool below = negative && rng_.Chance(30);
  Data data{.dtype = rng_.Pick({DType::kInt64, DType::kInt32}),
            .dims = std::move(dims),
            .kind = "integers",
            .low = static_cast<double>(below ? -size : 0),
            .high = static_cast<double>(size - 1),
            .seed = rng_.Next()};
  const auto kind = rng_.Chance(70) ? Statement::Kind::kInput : Statement::Kind::kConstant;
  return AddLeaf(kind, std::move(data));
}

std::string Draft::Special(Data data) {
  Statement statement{
      .kind = Statement::Kind::kInput, .results = {Name("x")}, .data = std::move(data)};
  const std::string name = statement.results[0];
  Add(std::move(statement));
  return name;
}

// ---- Operands ----

std::string Draft::Find(const std::function<bool(const Known&)>& fits) {
  std::vector<size_t> found;
  for (size_t i = 0; i < known_.size(); ++i) {
    if (fits(known_[i])) found.push_back(i);
  }
  if (found.empty()) return "";
  // The newest third rather than any: graphs grow deep.
  const size_t recent = std::max<size_t>(1, found.size() / 3);
  const size_t at =
      rng_.Chance(60) ? found.size() - 1 - rng_.Index(recent) : rng_.Index(found.size());
  return known_[found[at]].name;
}

// The value, or the same clipped to the wanted range.
std::string Draft::Clipped(const std::string& name, const Wanted& wanted) {
  const Known known = (*this)[name];
  if (known.low >= wanted.low && known.high <= wanted.high) return name;
  if (!IsFloating(known.dtype)) return "";
  const double low = std::max(wanted.low, -2.0);
  const double high = std::min(wanted.high, std::max(low + 1, 2.0));
  return One("Clip", 13,
             {name, Constant(known.dtype, {}, {low}), Constant(known.dtype, {}, {high})});
}

std::string Draft::Operand(const Wanted& wanted) {
  const auto fits = [&](const Known& k) {
    return (KindOf(k.dtype) & wanted.types) != 0 && k.rank() >= wanted.least_rank &&
           k.rank() <= wanted.most_rank;
  };
  const auto in_range = [&](const Known& k) {
    return k.low >= wanted.low && k.high <= wanted.high;
  };
  if (!focus_.empty() && fits((*this)[focus_])) return Clipped(focus_, wanted);
  std::string found;
  if (!rng_.Chance(15)) found = Find([&](const Known& k) { return fits(k) && in_range(k); });
  if (!found.empty()) return found;
  if (rng_.Chance(50)) found = Find([&](const Known& k) { return fits(k) && IsFloating(k.dtype); });
  if (!found.empty()) return Clipped(found, wanted);
  const bool main_fits = (KindOf(main_type_) & wanted.types) != 0 && rng_.Chance(85);
  const DType dtype = main_fits ? main_type_ : AnyType(wanted.types);
  const double low = std::max(wanted.low, -2.0);
  const double high = std::min(wanted.high, std::max(low + 1, 2.0));
  return Leaf(dtype, AnyDims(wanted.least_rank, std::min<size_t>(4, wanted.most_rank)), low, high);
}

std::string Draft::Partner(const std::string& first, double low, double high) {
  const Known known = (*this)[first];
  const auto fits = [&](const Known& k) {
    return k.dtype == known.dtype && k.low >= low && k.high <= high &&
           BroadcastsTogether(k.dims, known.dims);
  };
  if (rng_.Chance(25) && fits(known)) return first;
  if (rng_.Chance(60)) {
    std::string found = Find(fits);
    if (!found.empty()) return found;
  }
  const double least = std::max(low, -2.0), most = std::min(high, std::max(least + 1, 2.0));
  return Leaf(known.dtype, SmallerDims(known.dims), least, most);
}

// ---- Nodes ----

bool Draft::Note(const std::string& name, const Array& array, bool trainable) {
  Known known{.name = name, .dtype = array.dtype, .dims = array.dims, .trainable = trainable};
  known.low = 1e300;
  known.high = -1e300;
  for (const reference::Number x : array.data) {
    if (!std::isfinite(x)) return false;
    known.low = std::min(known.low, static_cast<double>(x));
    known.high = std::max(known.high, static_cast<double>(x));
  }
  const double largest = Largest(array.dtype);
  if (array.size() == 0 || known.low < -largest || known.high > largest) return false;
  if (array.size() > static_cast<size_t>(20 * kMostElements)) return false;
  known_.push_back(std::move(known));
  return true;
}

// Of a composed operator: what its composition gives.
Result<std::vector<Array>> Draft::Outputs(const graph::Node& node,
                                          const std::vector<const Array*>& inputs) {
  const graph::Operator& op = assembler_.module().OperatorOf(node);
  if (registry_.Find(op.domain, op.name, op.version)->compose == nullptr) {
    return reference::EvaluateNode(assembler_.module(), node, inputs, variables_);
  }
  HR_ASSIGN_OR_RETURN(const graph::Module composed,
                      transform::Composed(SystemAllocator(), registry_, assembler_.module(), true));
  return reference::Evaluator(composed).Run(values_, node.outputs);
}

bool Draft::Evaluate(const Statement& statement) {
  const graph::Node node = assembler_.last_node();
  std::vector<const Array*> inputs;
  for (graph::ValueId input : node.inputs) {
    // Gradients, and what is made of them, are left to the judge.
    if (input != kNone && !values_.contains(input)) return true;
    inputs.push_back(input == kNone ? nullptr : &values_.at(input));
  }
  auto outputs = Outputs(node, inputs);
  if (!outputs.ok()) return false;
  bool trainable = false;
  for (const std::string& operand : statement.operands) {
    if (operand == "_") continue;
    for (Known& known : known_) {
      if (known.name != operand) continue;
      known.used = true;
      trainable = trainable || (known.trainable && IsFloating(known.dtype));
    }
  }
  bool fine = true;
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (statement.results[i] == "_") continue;
    fine =
        Note(statement.results[i], (*outputs)[i], trainable && IsFloating((*outputs)[i].dtype)) &&
        fine;
    values_[node.outputs[i]] = std::move((*outputs)[i]);
  }
  return fine;
}

bool Draft::Add(Statement statement) {
  // Reads of variables become nodes of their own, which the reference evaluates here.
  for (const std::string& operand : statement.operands) {
    auto value = assembler_.Value(operand);
    if (!value.ok()) return false;
    if (auto variable = assembler_.variables().find(operand);
        variable != assembler_.variables().end())
      values_[*value] = variables_[variable->second];
  }
  const bool gradient = statement.kind == Statement::Kind::kGradient;
  std::optional<Assembler> before;
  if (gradient) before.emplace(assembler_);
  if (!assembler_.Add(statement).ok()) {
    if (gradient) assembler_ = *std::move(before);
    return false;
  }
  program_.statements.push_back(statement);
  if (statement.kind == Statement::Kind::kNode) return Evaluate(statement);
  if (!statement.leaf()) return true;
  const Array array = reference::FromTensor(statement.data.Make());
  const bool variable = statement.kind == Statement::Kind::kVariable;
  if (variable) variables_.push_back(array);
  if (!variable) values_[assembler_.Value(statement.results[0]).value()] = array;
  return Note(statement.results[0], array, variable);
}

std::vector<std::string> Draft::Node(const std::string& op, int version,
                                     std::vector<std::string> operands, size_t outputs,
                                     std::vector<NamedAttribute> attributes) {
  Statement statement{
      .version = version, .operands = std::move(operands), .attributes = std::move(attributes)};
  for (const std::string& operand : statement.operands) {
    if (operand.empty()) return {};
  }
  const size_t dot = op.rfind('.');
  statement.domain = dot == std::string::npos ? "" : op.substr(0, dot);
  statement.op = dot == std::string::npos ? op : op.substr(dot + 1);
  for (size_t i = 0; i < outputs; ++i) statement.results.push_back(Name("h"));
  std::vector<std::string> names = statement.results;
  return Add(std::move(statement)) ? names : std::vector<std::string>();
}

std::string Draft::One(const std::string& op, int version, std::vector<std::string> operands,
                       std::vector<NamedAttribute> attributes) {
  const auto names = Node(op, version, std::move(operands), 1, std::move(attributes));
  return names.empty() ? "" : names[0];
}

std::vector<std::string> Draft::Gradient(const std::string& of,
                                         const std::vector<std::string>& by) {
  Statement statement{.kind = Statement::Kind::kGradient, .operands = by, .of = of};
  for (size_t i = 0; i < by.size(); ++i) statement.results.push_back(Name("g"));
  std::vector<std::string> names = statement.results;
  return Add(std::move(statement)) ? names : std::vector<std::string>();
}

}  // namespace hr::random_graphs
