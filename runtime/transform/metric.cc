#include "runtime/transform/metric.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/formula.h"

namespace hr::transform {
namespace {

using Settings = std::map<std::string, double, std::less<>>;

// A metric under construction: its sums, and the nodes that keep and reset them.
class Metric {
 public:
  Metric(GraphBuilder& builder, std::string_view signature, std::string_view name,
         const Settings& settings)
      : f(builder, Cat(signature, "/", name)),
        builder_(builder),
        signature_(signature),
        name_(name),
        settings_(settings) {}

  double Setting(std::string_view name, double otherwise) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? otherwise : found->second;
  }
  bool Has(std::string_view name) const { return settings_.contains(name); }

  // The sum of this batch's `value` and of those before, kept in "<signature>/<name>/<what>".
  ValueId Sum(std::string_view what, ValueId value, const Dims& dims = {}) {
    if (!f.ok()) return kNone;
    const DType dtype = f.type(value).dtype;
    const uint32_t variable = f.Zeros(Cat(signature_, "/", name_, "/", what), dtype, dims);
    const ValueId sum = f.Add(f.AtStart(variable), value);
    const NodeId kept = f.Assign(variable, sum);
    const NodeId reset = f.Assign(variable, ZeroOf(variable));
    if (!f.ok()) return kNone;
    builder_.SignatureNamed(signature_).targets.push_back(kept);
    builder_.SignatureNamed(Cat(signature_, kResetSuffix)).targets.push_back(reset);
    return sum;
  }

  // The number of true elements, int64.
  ValueId CountOf(ValueId condition) {
    return f.ReduceAll("ReduceSum", f.Cast(condition, DType::kInt64));
  }
  ValueId Quotient(ValueId a, ValueId b) {
    return f.Div(f.Cast(a, DType::kFloat64), f.Cast(b, DType::kFloat64));
  }

  template <typename... Words>
  void Wrong(const Words&... words) {
    f.Fail(InvalidArgument("metric '", name_, "': ", words...));
  }

  Formula f;

 private:
  ValueId ZeroOf(uint32_t variable) {
    if (!f.ok()) return kNone;
    const uint32_t constant = builder_.module().variables[variable].initial_constant;
    auto zero = builder_.Constant(builder_.module().constants[constant]);
    if (zero.ok()) return *zero;
    f.Fail(std::move(zero).status());
    return kNone;
  }

  GraphBuilder& builder_;
  const std::string signature_, name_;
  const Settings& settings_;
};

using Inputs = std::span<const ValueId>;

bool IsLabel(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32; }

// Whether b has the dimensions of a, but for the one at `without`; unknown sizes fit.
bool HasDims(const graph::ValueType& b, const graph::ValueType& a, size_t without) {
  if (!b.ranked || b.dims.size() + 1 != a.dims.size()) return false;
  for (size_t i = 0; i < b.dims.size(); ++i) {
    const graph::Dim &was = a.dims[i < without ? i : i + 1], &is = b.dims[i];
    if (was.fixed() && is.fixed() && was.size != is.size) return false;
  }
  return true;
}

// Scores [N, C, …] and a label for each of their vectors of classes. Returns C, which is known, or
// 0 after a failure.
int64_t CheckClasses(Metric& m, Inputs inputs) {
  const graph::ValueType &scores = m.f.type(inputs[0]), &labels = m.f.type(inputs[1]);
  const bool known = scores.ranked && scores.dims.size() >= 2 && scores.dims[1].fixed();
  if (!known || !IsFloating(scores.dtype)) {
    m.Wrong("takes scores [N, C, …] of a floating type with a known C, got ", m.f.Text(scores));
    return 0;
  }
  if (!IsLabel(labels.dtype) || !HasDims(labels, scores, 1)) {
    m.Wrong("takes labels of int64 or int32, one for each vector of scores ", m.f.Text(scores),
            ", got ", m.f.Text(labels));
    return 0;
  }
  return scores.dims[1].size;
}

// Labels as int64, and which of them count; kNone: all do.
struct Labels {
  ValueId values = kNone, counted = kNone;
};
Labels LabelsOf(Metric& m, ValueId labels) {
  Labels out{.values = m.f.Cast(labels, DType::kInt64)};
  if (!m.Has("ignore_index")) return out;
  const ValueId ignored = m.f.Integer(static_cast<int64_t>(m.Setting("ignore_index", 0)));
  out.counted = m.f.Emit("Not", {m.f.Emit("Equal", {out.values, ignored})});
  return out;
}
ValueId NumberOf(Metric& m, const Labels& labels) {
  return labels.counted == kNone ? m.f.Emit("Size", {labels.values}) : m.CountOf(labels.counted);
}

ValueId ShareOf(Metric& m, ValueId hits, const Labels& labels) {
  return m.Quotient(m.Sum("hits", hits), m.Sum("examples", NumberOf(m, labels)));
}

// ---- The metrics ----

ValueId ArgMax(Metric& m, ValueId scores) {
  return m.f.Emit("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

ValueId Accuracy(Metric& m, Inputs inputs) {
  if (CheckClasses(m, inputs) == 0) return kNone;
  const Labels labels = LabelsOf(m, inputs[1]);
  ValueId hits = m.f.Emit("Equal", {ArgMax(m, inputs[0]), labels.values});
  if (labels.counted != kNone) hits = m.f.Emit("And", {hits, labels.counted});
  return ShareOf(m, m.CountOf(hits), labels);
}

ValueId TopK(Metric& m, Inputs inputs) {
  const int64_t classes = CheckClasses(m, inputs);
  const double k = m.Setting("k", 0);
  if (classes == 0) return kNone;
  if (k != std::floor(k) || k < 1 || k > static_cast<double>(classes)) {
    m.Wrong("k is a whole number from 1 to the number of classes, ", classes, ", got ", k);
    return kNone;
  }
  const int64_t count = static_cast<int64_t>(k), axis = 1;
  const Labels labels = LabelsOf(m, inputs[1]);
  const auto best =
      m.f.EmitMany(ops::kOnnx, "TopK", std::vector{inputs[0], m.f.Ints(std::span(&count, 1))}, 2,
                   graph::Attributes({{"axis", axis}}));
  const ValueId axes = m.f.Ints(std::span(&axis, 1));
  ValueId hits = m.f.Emit("Equal", {best[1], m.f.Emit("Unsqueeze", {labels.values, axes})});
  if (labels.counted != kNone)
    hits = m.f.Emit("And", {hits, m.f.Emit("Unsqueeze", {labels.counted, axes})});
  return ShareOf(m, m.CountOf(hits), labels);
}

// Losses, each for itself, or the mean of a batch whose labels say how many it has.
ValueId Mean(Metric& m, Inputs inputs) {
  Formula& f = m.f;
  const graph::ValueType type = f.type(inputs[0]);
  if (!IsFloating(type.dtype) || !type.ranked) {
    m.Wrong("takes values of a floating type and a known rank, got ", f.Text(type));
    return kNone;
  }
  ValueId values = f.Cast(inputs[0], DType::kFloat64);
  const bool is_mean = type.dims.empty() && inputs.size() == 2;
  if (!is_mean && inputs.size() == 2) {
    m.Wrong("takes labels only with the mean of a batch, a scalar, got ", f.Text(type));
    return kNone;
  }
  ValueId number = f.Emit("Size", {values});
  if (is_mean) {
    number = NumberOf(m, LabelsOf(m, inputs[1]));
    // The mean of no values is no number.
    const ValueId sum = f.Mul(values, f.Cast(number, DType::kFloat64));
    values = f.Where(f.Less(f.Integer(0), number), sum, f.Number(0));
  }
  return m.Quotient(m.Sum("sum", f.ReduceAll("ReduceSum", values)), m.Sum("examples", number));
}

ValueId Perplexity(Metric& m, Inputs inputs) { return m.f.Emit("Exp", {Mean(m, inputs)}); }

// One for each index, in a vector of `size` counts.
ValueId Counts(Metric& m, ValueId indices, ValueId ones, int64_t size) {
  Formula& f = m.f;
  const ValueId zeros = f.Emit("Expand", {f.Integer(0), f.Ints(std::span(&size, 1))});
  const int64_t flat = -1;
  const ValueId shape = f.Ints(std::span(&flat, 1));
  return f.Emit("ScatterElements",
                {zeros, f.Emit("Reshape", {indices, shape}), f.Emit("Reshape", {ones, shape})},
                {{"axis", int64_t{0}}, {"reduction", std::string_view("add")}});
}

// The places of scores in a histogram of as many bins, those of positive examples behind the
// others.
ValueId BinsOf(Metric& m, Inputs inputs, int64_t bins) {
  Formula& f = m.f;
  ValueId scores = f.Cast(inputs[0], DType::kFloat64);
  if (m.Setting("logits", 0) != 0) scores = f.Emit("Sigmoid", {scores});
  const ValueId place = f.Emit("Floor", {f.Mul(scores, f.Number(static_cast<double>(bins)))});
  const ValueId last = f.Number(static_cast<double>(bins - 1));
  const ValueId bin = f.Cast(f.Emit("Clip", {place, f.Number(0), last}), DType::kInt64);
  const ValueId positive = f.Cast(f.Cast(inputs[1], DType::kBool), DType::kInt64);
  return f.Add(bin, f.Mul(positive, f.Integer(bins)));
}

// The area under the curve of true against false positives, by histograms of both.
ValueId Auc(Metric& m, Inputs inputs) {
  Formula& f = m.f;
  const graph::ValueType &scores = f.type(inputs[0]), &labels = f.type(inputs[1]);
  const bool same_rank = scores.ranked && labels.ranked && scores.dims.size() == labels.dims.size();
  const bool fits = same_rank && std::equal(scores.dims.begin(), scores.dims.end(),
                                            labels.dims.begin(), [](const auto& a, const auto& b) {
                                              return !a.fixed() || !b.fixed() || a.size == b.size;
                                            });
  if (!IsFloating(scores.dtype) || !fits ||
      (!IsLabel(labels.dtype) && labels.dtype != DType::kBool)) {
    m.Wrong(
        "takes scores of a floating type and labels of int64, int32 or bool of the same shape, ",
        "got ", f.Text(scores), " and ", f.Text(labels));
    return kNone;
  }
  constexpr double kMostBins = 1 << 24;
  const double wanted = m.Setting("bins", 1000);
  if (wanted != std::floor(wanted) || wanted < 2 || wanted > kMostBins) {
    m.Wrong("bins is a whole number from 2 to ", kMostBins, ", got ", wanted);
    return kNone;
  }
  const auto bins = static_cast<int64_t>(wanted);
  const ValueId places = BinsOf(m, inputs, bins);
  const ValueId ones = f.Emit("Expand", {f.Integer(1), f.Emit("Shape", {places})});
  const ValueId counts = m.Sum("counts", Counts(m, places, ones, 2 * bins), {2 * bins});
  const int64_t rows[] = {2, bins}, axis = 0;
  const ValueId table = f.Cast(f.Emit("Reshape", {counts, f.Ints(rows)}), DType::kFloat64);
  const ValueId negative = f.Emit("Gather", {table, f.Integer(0)});
  const ValueId positive = f.Emit("Gather", {table, f.Integer(1)});
  const ValueId above = f.Emit("CumSum", {positive, f.Integer(axis)},
                               {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}});
  const ValueId won = f.Add(above, f.Mul(positive, f.Number(0.5)));
  const ValueId pairs =
      f.Mul(f.ReduceAll("ReduceSum", positive), f.ReduceAll("ReduceSum", negative));
  return f.Div(f.ReduceAll("ReduceSum", f.Mul(negative, won)), pairs);
}

// How often a label (row) was taken for a class (column).
ValueId Confusion(Metric& m, Inputs inputs) {
  Formula& f = m.f;
  const int64_t classes = CheckClasses(m, inputs);
  if (classes == 0) return kNone;
  if (classes > 1 << 12) {
    m.Wrong("holds a number for each pair of classes, and these are ", classes);
    return kNone;
  }
  const Labels labels = LabelsOf(m, inputs[1]);
  const ValueId row = f.Mul(labels.values, f.Integer(classes));
  const ValueId place = f.Add(row, ArgMax(m, inputs[0]));
  // A negative label is no place from the end: like one that is too large it is refused.
  const ValueId beyond = f.Integer(classes * classes);
  ValueId index = f.Where(f.Less(labels.values, f.Integer(0)), beyond, place);
  ValueId ones = f.Emit("Expand", {f.Integer(1), f.Emit("Shape", {index})});
  if (labels.counted != kNone) {
    index = f.Where(labels.counted, index, f.Integer(0));
    ones = f.Where(labels.counted, ones, f.Integer(0));
  }
  const int64_t size = classes * classes, square[] = {classes, classes};
  const ValueId counts = m.Sum("counts", Counts(m, index, ones, size), {size});
  return f.Emit("Reshape", {counts, f.Ints(square)});
}

// ---- The table ----

struct MetricDef {
  Literal name;
  size_t least, most;  // inputs
  std::span<const Literal> settings;
  ValueId (*emit)(Metric& m, Inputs inputs);
};

constexpr Literal kOfLabels[] = {"ignore_index"};
constexpr Literal kOfTopK[] = {"k", "ignore_index"};
constexpr Literal kOfAuc[] = {"bins", "logits"};

constexpr MetricDef kMetrics[] = {
    {"accuracy", 2, 2, kOfLabels, Accuracy},
    {"top_k", 2, 2, kOfTopK, TopK},
    {"mean", 1, 2, kOfLabels, Mean},
    {"perplexity", 1, 2, kOfLabels, Perplexity},
    {"auc", 2, 2, kOfAuc, Auc},
    {"confusion", 2, 2, kOfLabels, Confusion},
};

Result<const MetricDef*> FindMetric(std::string_view name) {
  std::vector<Literal> known;
  for (const MetricDef& def : kMetrics) {
    if (def.name == name) return &def;
    known.push_back(def.name);
  }
  return InvalidArgument("there is no metric '", name, "'; there are: ", Join(known));
}

Result<Settings> SettingsOf(const MetricDef& def, const NamedNumbers& spec) {
  Settings out;
  for (const auto& [name, value] : spec.numbers) {
    const auto is_name = [&name = name](Literal known) { return known == name; };
    if (std::ranges::none_of(def.settings, is_name)) {
      return InvalidArgument("metric '", def.name, "' has no setting '", name,
                             "'; there are: ", Join(def.settings));
    }
    if (name == "ignore_index" && value != std::floor(value))
      return InvalidArgument("metric '", def.name, "': ignore_index is a label, got ", value);
    out[name] = value;
  }
  return out;
}

Status CheckInputs(const GraphBuilder& builder, const MetricDef& def, Inputs inputs) {
  if (inputs.size() < def.least || inputs.size() > def.most) {
    return InvalidArgument("metric '", def.name, "' takes ", def.least,
                           def.least == def.most ? "" : " or 2", " inputs, got ", inputs.size());
  }
  for (ValueId input : inputs) HR_RETURN_IF_ERROR(builder.CheckValue(input));
  return {};
}

Status CheckOutput(const graph::Module& module, std::string_view signature, std::string_view name) {
  if (signature.empty() || name.empty())
    return InvalidArgument("a metric wants a signature and a name in it");
  const graph::Signature* found = module.FindSignature(signature);
  if (found == nullptr ||
      std::ranges::find(found->outputs, name, &graph::Port::name) == found->outputs.end())
    return {};
  return AlreadyExists("signature '", signature, "' has an output '", name, "' already");
}

}  // namespace

Status AddMetric(GraphBuilder& builder, std::string_view signature, std::string_view name,
                 std::string_view text, std::span<const ValueId> inputs) {
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(text));
  HR_ASSIGN_OR_RETURN(const MetricDef* def, FindMetric(spec.name));
  HR_ASSIGN_OR_RETURN(const Settings settings, SettingsOf(*def, spec));
  HR_RETURN_IF_ERROR(CheckInputs(builder, *def, inputs));
  HR_RETURN_IF_ERROR(CheckOutput(builder.module(), signature, name));
  return builder.AllOrNothing([&]() -> Status {
    Metric metric(builder, signature, name, settings);
    const ValueId value = def->emit(metric, inputs);
    HR_RETURN_IF_ERROR(metric.f.status());
    builder.SignatureNamed(signature).outputs.push_back({std::string(name), value});
    return {};
  });
}

}  // namespace hr::transform
