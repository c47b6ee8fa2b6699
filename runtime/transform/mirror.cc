#include "runtime/transform/mirror.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/ops/optimizer.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/formula.h"

namespace hr::transform {
namespace {

// Where a gradient enters: this input of a node.
struct Site {
  NodeId node;
  size_t input;
};

// Gradients that travel in one operation.
struct GradientBucket {
  DType dtype = DType::kUndefined;
  int64_t bytes = 0;
  std::vector<ValueId> gradients;  // each once
};

int64_t BytesOf(const graph::ValueType& type) {
  const auto dims = type.FixedDims();
  return dims ? ElementCount(*dims) * static_cast<int64_t>(DTypeSize(type.dtype)) : 0;
}

bool IsOp(const graph::Module& module, const graph::Node& node, std::string_view domain,
          std::string_view name) {
  const graph::Operator& op = module.OperatorOf(node);
  return op.domain == domain && op.name == name;
}

class Mirrorer {
 public:
  Mirrorer(GraphBuilder& builder, std::string_view signature, std::string_view group,
           const MirrorOptions& options)
      : builder_(builder), name_(signature), group_(group), options_(options) {}

  Status Run() {
    MarkNeeded();
    HR_RETURN_IF_ERROR(CheckSilent());
    const std::vector<Site> sites = FindSites();
    if (sites.empty()) {
      return FailedPrecondition(
          "signature '", name_,
          "' updates no variable by a gradient; call hr_graph_minimize first");
    }
    HR_RETURN_IF_ERROR(AddTotals());
    for (const GradientBucket& bucket : Fill(sites)) HR_RETURN_IF_ERROR(Average(bucket));
    for (const Site& site : sites) Replace(site);
    return {};
  }

 private:
  const graph::Module& module() const { return builder_.module(); }
  const graph::Graph& graph() const { return builder_.graph(); }
  const graph::ValueType& TypeOf(ValueId value) const { return graph().values[value].type; }
  graph::Signature& signature() { return builder_.SignatureNamed(name_); }

  void MarkNeeded() {
    Request all{.targets = signature().targets};
    for (const graph::Port& port : signature().outputs) all.fetches.push_back(port.value);
    needed_ = NeededNodes(graph(), graph::Marks(graph().values.size(), false), all);
  }

  // The step must not communicate in the group already.
  Status CheckSilent() const {
    for (NodeId id = 0; id < needed_.size(); ++id) {
      const graph::Node& node = graph().nodes[id];
      if (!needed_[id] || module().OperatorOf(node).domain != ops::kComm) continue;
      if (node.String("group", "") != group_) continue;
      return AlreadyExists("signature '", name_, "' communicates in the group '", group_,
                           "' already, in node '", graph::NodeText(module(), graph(), id),
                           "'; distribute a signature once, or use another group");
    }
    return {};
  }

  // Marks of gradients that follow from no other mark, and optimizers that follow from none.
  std::vector<Site> FindSites() const {
    const graph::Marks marked = BehindMarks();
    std::vector<Site> out;
    for (NodeId id = 0; id < needed_.size(); ++id) {
      const graph::Node& node = graph().nodes[id];
      if (!needed_[id]) continue;
      const bool mark = IsOp(module(), node, ops::kTrain, "Gradient");
      const bool update = module().OperatorOf(node).domain == ops::kTrain &&
                          ops::FindOptimizerOfOp(module().OperatorOf(node).name) != nullptr;
      const size_t input = mark ? 0 : 1;
      if ((mark || update) && marked[node.inputs[input]] == 0) out.push_back({id, input});
    }
    return out;
  }

  // Marks the values that are computed from marked ones, too.
  graph::Marks Followers(graph::Marks values) const {
    const auto order = graph::TopologicalOrder(graph());
    if (!order.ok()) return values;
    for (NodeId id : *order) {
      const graph::Node& node = graph().nodes[id];
      const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return input != kNone && values[input] != 0;
      });
      for (ValueId output : node.outputs) {
        if (follows && output != kNone) values[output] = true;
      }
    }
    return values;
  }

  // The values that are marked gradients, or are computed from one.
  graph::Marks BehindMarks() const {
    graph::Marks marked(graph().values.size(), false);
    for (const graph::Node& node : graph().nodes) {
      if (!IsOp(module(), node, ops::kTrain, "Gradient")) continue;
      for (ValueId output : node.outputs) {
        if (output != kNone) marked[output] = true;
      }
    }
    return Followers(std::move(marked));
  }

  // The size of the first axis of the first input that leaves it open; kNone if there is none.
  ValueId Examples(Formula& f) {
    for (const graph::Port& port : signature().inputs) {
      const graph::ValueType& type = TypeOf(port.value);
      if (!type.ranked || type.dims.empty() || type.dims[0].fixed()) continue;
      const ValueId first = f.Emit("Shape", {port.value}, {{"start", 0}, {"end", 1}});
      return f.ReduceAll("ReduceSum", f.Cast(first, DType::kFloat64));
    }
    return kNone;
  }

  // Outputs that are one floating-point number each and follow from the signature's inputs.
  std::vector<size_t> MeanOutputs() {
    graph::Marks fed(graph().values.size(), false);
    for (const graph::Port& port : signature().inputs) fed[port.value] = true;
    fed = Followers(std::move(fed));
    std::vector<size_t> out;
    for (size_t i = 0; i < signature().outputs.size(); ++i) {
      const ValueId value = signature().outputs[i].value;
      const graph::ValueType& type = TypeOf(value);
      if (fed[value] && IsFloating(type.dtype) && type.rank() == 0) out.push_back(i);
    }
    return out;
  }

  // What a mean over this rank's examples adds to the sum; that of no examples is no number.
  static ValueId Share(Formula& f, ValueId mean, ValueId examples) {
    const ValueId zero = f.Number(0);
    return f.Where(f.Less(zero, examples), f.Mul(mean, examples), zero);
  }

  // All ranks' numbers of examples and their outputs, in one operation at the end of the forward
  // pass. weight_ is this rank's share of the examples.
  Status AddTotals() {
    Formula f(builder_, Cat(name_, "/mirrored"));
    const std::vector<size_t> outputs = MeanOutputs();
    const ValueId examples = Examples(f);
    std::vector<ValueId> sums;
    for (size_t i : outputs) {
      const ValueId value = f.Cast(signature().outputs[i].value, DType::kFloat64);
      sums.push_back(examples == kNone ? value : Share(f, value, examples));
    }
    if (examples != kNone) sums.push_back(examples);
    HR_RETURN_IF_ERROR(f.status());
    if (sums.empty()) return {};
    HR_ASSIGN_OR_RETURN(const auto totals, AllReduce(sums, examples == kNone ? "average" : "sum"));
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph::Port& port = signature().outputs[outputs[i]];
      const ValueId mean = examples == kNone ? totals[i] : f.Div(totals[i], totals.back());
      port.value = f.Cast(mean, TypeOf(port.value).dtype);
    }
    if (examples != kNone) weight_ = f.Div(examples, totals.back());
    return f.status();
  }

  // In the order in which the backward pass computes them.
  std::vector<GradientBucket> Fill(const std::vector<Site>& sites) const {
    std::vector<ValueId> gradients;
    for (const Site& site : sites) gradients.push_back(graph().nodes[site.node].inputs[site.input]);
    std::sort(gradients.begin(), gradients.end());
    gradients.erase(std::unique(gradients.begin(), gradients.end()), gradients.end());
    std::vector<GradientBucket> out;
    std::vector<size_t> open;  // one for each type
    for (ValueId gradient : gradients) {
      const graph::ValueType& type = TypeOf(gradient);
      auto at = std::find_if(open.begin(), open.end(),
                             [&](size_t i) { return out[i].dtype == type.dtype; });
      if (at == open.end()) {
        open.push_back(out.size());
        at = open.end() - 1;
        out.push_back({.dtype = type.dtype});
      }
      GradientBucket& bucket = out[*at];
      bucket.gradients.push_back(gradient);
      bucket.bytes += BytesOf(type);
      const int64_t most = *at == 0 ? options_.first_bucket : options_.bucket;
      if (bucket.bytes >= most) open.erase(at);
    }
    return out;
  }

  Status Average(const GradientBucket& bucket) {
    Formula f(builder_, Cat(name_, "/mirrored"));
    const bool narrow = options_.bf16 && bucket.dtype == DType::kFloat32;
    std::vector<ValueId> sent;
    for (ValueId gradient : bucket.gradients) {
      sent.push_back(narrow ? f.Cast(gradient, DType::kBfloat16) : gradient);
    }
    HR_RETURN_IF_ERROR(f.status());
    HR_ASSIGN_OR_RETURN(const auto means,
                        AllReduce(sent, weight_ == kNone ? "average" : "sum", weight_));
    for (size_t i = 0; i < means.size(); ++i) {
      means_.push_back({bucket.gradients[i], f.Cast(means[i], bucket.dtype)});
    }
    return f.status();
  }

  // One node, after those that were added before it.
  Result<std::vector<ValueId>> AllReduce(std::vector<ValueId> values, std::string_view op,
                                         ValueId weight = kNone) {
    NodeSpec spec{.domain = std::string(ops::kComm),
                  .op = "AllReduce",
                  .inputs = std::move(values),
                  .attributes = graph::Attributes({{"group", group_}, {"op", op}}),
                  .chained = false,
                  .name = builder_.UniqueName("AllReduce")};
    spec.outputs = spec.inputs.size();
    if (weight != kNone) {
      spec.inputs.push_back(weight);
      graph::Append(&spec.attributes, {"weighted", int64_t{1}});
    }
    if (last_ != kNone) spec.controls = {last_};
    HR_ASSIGN_OR_RETURN(last_, builder_.AddNode(std::move(spec)));
    return graph().nodes[last_].outputs;
  }

  void Replace(const Site& site) {
    const ValueId gradient = graph().nodes[site.node].inputs[site.input];
    for (const auto& [local, mean] : means_) {
      if (local == gradient) builder_.SetInput(site.node, site.input, mean);
    }
  }

  GraphBuilder& builder_;
  const std::string name_;
  const std::string group_;
  const MirrorOptions options_;
  graph::Marks needed_;
  ValueId weight_ = kNone;
  NodeId last_ = kNone;                             // that communicates
  std::vector<std::pair<ValueId, ValueId>> means_;  // of gradients
};

Status TakeSetting(std::string_view name, double value, MirrorOptions* options) {
  if (name == "bf16") {
    if (value != 0 && value != 1) return InvalidArgument("bf16 is 0 or 1, got ", value);
    options->bf16 = value == 1;
    return {};
  }
  if (name != "first_bucket" && name != "bucket") {
    return InvalidArgument("the strategy 'mirrored' has no setting '", name,
                           "'; it has first_bucket, bucket and bf16");
  }
  constexpr double kMost = 1e15;
  if (!(value >= 1 && value <= kMost)) {
    return InvalidArgument(name, " is a number of bytes, 1 or more; got ", value);
  }
  (name == "bucket" ? options->bucket : options->first_bucket) = static_cast<int64_t>(value);
  return {};
}

}  // namespace

Result<MirrorOptions> ParseStrategy(std::string_view text) {
  HR_ASSIGN_OR_RETURN(const NamedNumbers spec, ParseNamedNumbers(text));
  if (spec.name != "mirrored") {
    return InvalidArgument("there is no strategy '", spec.name, "'; there is mirrored");
  }
  MirrorOptions out;
  for (const auto& [name, value] : spec.numbers) {
    HR_RETURN_IF_ERROR(TakeSetting(name, value, &out));
  }
  return out;
}

Status Mirror(GraphBuilder& builder, std::string_view signature, std::string_view group,
              const MirrorOptions& options) {
  if (builder.module().FindSignature(signature) == nullptr) {
    return NotFound("there is no signature '", signature, "'");
  }
  if (group.empty()) return InvalidArgument("a group needs a name; it is what nodes call it by");
  return builder.AllOrNothing([&] { return Mirrorer(builder, signature, group, options).Run(); });
}

}  // namespace hr::transform
