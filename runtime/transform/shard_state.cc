#include "runtime/transform/shard_state.h"

#include <algorithm>
#include <map>

#include "runtime/base/errors.h"
#include "runtime/ops/optimizer.h"

namespace hr::transform {
namespace {

// What a rank has of a value: all of it, its part of the elements, or a number that is the sum of
// those of all ranks.
enum class Held : uint8_t { kWhole, kPart, kAddend };

constexpr std::string_view kElementwise[] = {"Add",  "Sub",   "Mul",  "Div",      "Min",     "Max",
                                             "Clip", "Where", "Cast", "Identity", "Gradient"};
constexpr std::string_view kSums[] = {"ReduceSum", "ReduceSumSquare"};
constexpr std::string_view kLinear[] = {"Add", "Cast", "Identity"};

template <typename List>
bool IsOneOf(std::string_view name, const List& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

class Sharder {
 public:
  Sharder(GraphBuilder& builder, RankNodes& ranks, Formula& f, std::string_view signature,
          const ShardOptions& options)
      : builder_(builder), ranks_(ranks), f_(f), signature_(signature), options_(options) {}

  Result<std::vector<graph::Shard>> Run(std::span<const GradientSite> sites,
                                        const graph::Marks& marked,
                                        std::span<const std::vector<ValueId>> buckets) {
    for (const auto& bucket : buckets) HR_RETURN_IF_ERROR(Scatter(bucket));
    for (const GradientSite& site : sites) {
      const ValueId whole = graph().nodes[site.node].inputs[site.input];
      builder_.SetInput(site.node, site.input, parts_.at(whole));
    }
    HR_RETURN_IF_ERROR(Follow(marked));
    HR_RETURN_IF_ERROR(CheckOutputs());
    HR_RETURN_IF_ERROR(UpdateParts());
    return std::move(shards_);
  }

 private:
  const graph::Module& module() const { return builder_.module(); }
  const graph::Graph& graph() const { return builder_.graph(); }
  std::string NameOf(NodeId id) const { return graph::NodeText(module(), graph(), id); }
  Held HeldOf(ValueId value) const {
    const auto found = held_.find(value);
    return found == held_.end() ? Held::kWhole : found->second;
  }
  int64_t PartOf(int64_t elements) const { return graph::PartOf(elements, options_.ranks); }
  // All that depends on the number of ranks is said by Pack, Unpack and what communicates, so that
  // the graph can be made one for another number (redivide.h).
  ValueId Flat(ValueId value) {
    return f_.Emit("Reshape", {value, f_.Ints(std::vector<int64_t>{-1})});
  }

  // A rank without examples gives nothing, whatever its gradients are.
  ValueId Weighted(ValueId gradient) {
    if (options_.weight == kNone) return gradient;
    const ValueId weight = f_.CastLike(options_.weight, gradient), zero = f_.Scalar(0, gradient);
    return f_.Where(f_.Less(zero, weight), f_.Mul(gradient, weight), zero);
  }

  // This rank's part of the mean of each gradient.
  Status Scatter(const std::vector<ValueId>& gradients) {
    std::vector<ValueId> weighted;
    std::vector<int64_t> elements;
    const DType dtype = f_.type(gradients[0]).dtype;
    const bool narrow = options_.bf16 && dtype == DType::kFloat32;
    for (ValueId gradient : gradients) {
      const auto dims = f_.type(gradient).FixedDims();
      if (!dims) return InvalidArgument("cannot divide a gradient whose shape is not known");
      elements.push_back(ElementCount(*dims));
      weighted.push_back(Weighted(gradient));
    }
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(ValueId all, ranks_.Pack(std::move(weighted), options_.ranks));
    all = f_.Cast(all, narrow ? DType::kBfloat16 : dtype);
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(
        const ValueId sum,
        ranks_.ReduceScatter(all, options_.weight == kNone ? "average" : "sum", options_.ranks));
    const ValueId wide = f_.Cast(sum, dtype);
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const auto rows, ranks_.Unpack(wide, elements, options_.ranks));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const ValueId part = Flat(rows[i]);
      parts_[gradients[i]] = part;
      held_[part] = Held::kPart;
    }
    return f_.status();
  }

  // Computes what follows from the gradients of parts: clipping and accumulation.
  Status Follow(const graph::Marks& marked) {
    HR_ASSIGN_OR_RETURN(const auto order, graph::TopologicalOrder(graph()));
    for (NodeId id : order) {
      if (id >= marked.size() || !marked[id]) continue;
      HR_RETURN_IF_ERROR(FollowNode(id).WithNode(NameOf(id)));
    }
    return {};
  }

  Status FollowNode(NodeId id) {
    const graph::Operator op = module().OperatorOf(graph().nodes[id]);
    if (!Has(id, Held::kPart) && !Has(id, Held::kAddend)) return {};
    if (op.domain == ops::kTrain && ops::FindOptimizerOfOp(op.name) != nullptr) {
      updates_.push_back(id);
      return {};
    }
    if (Has(id, Held::kAddend)) {
      const bool linear = IsOneOf(op.name, kLinear) && !Has(id, Held::kWhole);
      if (linear) return Hold(id, Held::kAddend);
      HR_RETURN_IF_ERROR(Complete(id));
    }
    if (!Has(id, Held::kPart)) return {};
    if (op.domain == ops::kState && op.name == "Assign") return {};  // its variable was read before
    if (IsOneOf(op.name, kSums) && graph().nodes[id].inputs.size() == 1) {
      return Hold(id, Held::kAddend);
    }
    if (!IsOneOf(op.name, kElementwise)) {
      return Unimplemented("takes whole gradients, which divided optimizer state (zero=1) has not");
    }
    HR_RETURN_IF_ERROR(DivideReads(id));
    HR_RETURN_IF_ERROR(builder_.InferAgain(id));
    return Hold(id, Held::kPart);
  }

  bool Has(NodeId id, Held held) const {
    const auto& inputs = graph().nodes[id].inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId input) { return input != kNone && HeldOf(input) == held; });
  }
  Status Hold(NodeId id, Held held) {
    for (ValueId output : graph().nodes[id].outputs) held_[output] = held;
    return {};
  }

  // Gives the node the sums of all ranks.
  Status Complete(NodeId id) {
    for (size_t i = 0; i < graph().nodes[id].inputs.size(); ++i) {
      const ValueId addend = graph().nodes[id].inputs[i];
      if (addend == kNone || HeldOf(addend) != Held::kAddend) continue;
      if (!sums_.contains(addend)) {
        HR_ASSIGN_OR_RETURN(const auto sum, ranks_.AllReduce({addend}, "sum"));
        sums_[addend] = sum[0];
      }
      builder_.SetInput(id, i, sums_[addend]);
    }
    return {};
  }

  // A variable that is read to be computed with a part, such as a sum of gradients, is one of
  // parts.
  Status DivideReads(NodeId id) {
    for (const ValueId input : graph().nodes[id].inputs) {
      if (input == kNone || HeldOf(input) != Held::kWhole || f_.type(input).rank() == 0) continue;
      const NodeId read = graph().values[input].producer;
      if (read == kNone || module().OperatorOf(graph().nodes[read]).name != "Read") {
        return Unimplemented("joins gradients with a value that cannot be divided (zero=1)");
      }
      HR_RETURN_IF_ERROR(Divide(static_cast<uint32_t>(graph().nodes[read].Int("variable", 0))));
      HR_RETURN_IF_ERROR(builder_.InferAgain(read));
      held_[input] = Held::kPart;
    }
    return {};
  }

  void Note(uint32_t variable, std::optional<Dims> dims) {
    shards_.push_back({.variable = variable,
                       .group = ranks_.group(),
                       .ranks = options_.ranks,
                       .dims = std::move(dims)});
  }

  // Lets each rank have its part of a variable.
  Status Divide(uint32_t variable) {
    const graph::Variable& whole = module().variables[variable];
    const Dims dims = whole.dims;
    Note(variable, dims);
    return builder_.DivideVariable(variable, PartOf(ElementCount(dims)));
  }

  Status CheckOutputs() {
    for (const graph::Port& port : builder_.SignatureNamed(signature_).outputs) {
      if (HeldOf(port.value) == Held::kWhole) continue;
      return Unimplemented("output '", port.name, "' is made of gradients, of which a rank has a ",
                           "part with divided optimizer state (zero=1)");
    }
    return {};
  }

  // Part of a variable on its way through the update.
  struct Part {
    uint32_t variable;
    NodeId update;
    ValueId updated;
  };

  Status UpdateParts() {
    HR_ASSIGN_OR_RETURN(const ValueId rank, ranks_.Exscan(f_.Integer(1)));
    std::vector<Part> parts;
    for (NodeId update : updates_) {
      HR_ASSIGN_OR_RETURN(const Part part, UpdatePart(update, rank));
      parts.push_back(part);
    }
    while (!parts.empty()) {
      const DType dtype = f_.type(parts[0].updated).dtype;
      const auto rest = std::stable_partition(parts.begin(), parts.end(), [&](const Part& part) {
        return f_.type(part.updated).dtype == dtype;
      });
      HR_RETURN_IF_ERROR(Gather({parts.begin(), rest}));
      parts.erase(parts.begin(), rest);
    }
    return f_.status();
  }

  Result<Part> UpdatePart(NodeId update, ValueId rank) {
    const graph::Node node = graph().nodes[update];
    const ops::OptimizerDef& def = *ops::FindOptimizerOfOp(module().OperatorOf(node).name);
    if (def.name == "lamb") {
      return Unimplemented(
          "lamb needs the norms of whole variables, which divided optimizer state "
          "(zero=1) has not; use adam");
    }
    const auto variable = static_cast<uint32_t>(node.Int("variable", 0));
    const graph::Variable whole = module().variables[variable];
    const std::string name = graph::NameOfCopy(whole.name);
    const uint32_t own = f_.Zeros(name, whole.dtype, {PartOf(ElementCount(whole.dims))});
    HR_RETURN_IF_ERROR(f_.status());
    Note(own, std::nullopt);
    for (const ops::OptimizerState& state : def.state) {
      const int64_t index = node.Int(state.attribute, -1);
      if (index >= 0 && !state.counter) HR_RETURN_IF_ERROR(Divide(static_cast<uint32_t>(index)));
    }
    std::vector<graph::Attribute> attributes = node.attributes;
    for (graph::Attribute& attribute : attributes) {
      if (attribute.name == "variable") attribute.value = int64_t{own};
    }
    builder_.SetAttributes(update, std::move(attributes));
    HR_ASSIGN_OR_RETURN(const ValueId rows, ranks_.Pack({f_.AtStart(variable)}, options_.ranks));
    const ValueId before = f_.Emit("Gather", {rows, rank});
    builder_.AddControl(update, f_.Assign(own, before));
    HR_RETURN_IF_ERROR(builder_.InferAgain(update));
    return Part{variable, update, f_.After(own, update)};
  }

  // All ranks get the new values.
  Status Gather(std::vector<Part> parts) {
    std::vector<ValueId> updated;
    std::vector<int64_t> elements;
    for (const Part& part : parts) {
      updated.push_back(f_.Emit("Unsqueeze", {part.updated, f_.Ints(std::vector<int64_t>{0})}));
      elements.push_back(ElementCount(module().variables[part.variable].dims));
    }
    const ValueId joined = updated.size() == 1
                               ? updated[0]
                               : f_.EmitMany(ops::kOnnx, "Concat", updated, 1,
                                             graph::Attributes({{"axis", int64_t{1}}}))[0];
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const ValueId all, ranks_.AllGather(joined, options_.ranks));
    HR_ASSIGN_OR_RETURN(const auto rows, ranks_.Unpack(all, elements, options_.ranks));
    for (size_t i = 0; i < parts.size(); ++i) HR_RETURN_IF_ERROR(Store(parts[i], rows[i]));
    return {};
  }

  // `rows`: [ranks, part]. What followed the update follows the variable's new value.
  Status Store(const Part& part, ValueId rows) {
    const graph::Variable& variable = module().variables[part.variable];
    const Dims dims = variable.dims;
    const std::vector<int64_t> none = {0}, end = {ElementCount(dims)};
    const ValueId flat = f_.Emit("Slice", {Flat(rows), f_.Ints(none), f_.Ints(end)});
    const NodeId assigned =
        f_.Assign(part.variable, f_.Emit("Reshape", {flat, f_.Ints(dims)}), part.update);
    HR_RETURN_IF_ERROR(f_.status());
    for (NodeId control : graph().nodes[part.update].controls) {
      if (control != assigned) builder_.AddControl(assigned, control);
    }
    for (NodeId id = 0; id < assigned; ++id) {
      const graph::Node& node = graph().nodes[id];
      const bool reads = module().OperatorOf(node).name == "Read" &&
                         node.Int("variable", -1) == int64_t{part.variable};
      const auto& controls = node.controls;
      if (reads && std::find(controls.begin(), controls.end(), part.update) != controls.end()) {
        builder_.AddControl(id, assigned);
      }
    }
    auto& targets = builder_.SignatureNamed(signature_).targets;
    std::replace(targets.begin(), targets.end(), part.update, assigned);
    return {};
  }

  GraphBuilder& builder_;
  RankNodes& ranks_;
  Formula& f_;
  const std::string_view signature_;
  const ShardOptions options_;
  std::map<ValueId, ValueId> parts_;  // of gradients
  std::map<ValueId, Held> held_;
  std::map<ValueId, ValueId> sums_;  // of addends
  std::vector<NodeId> updates_;
  std::vector<graph::Shard> shards_;
};

}  // namespace

Result<std::vector<graph::Shard>> ShardUpdates(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                                               std::string_view signature,
                                               std::span<const GradientSite> sites,
                                               const graph::Marks& marked,
                                               std::span<const std::vector<ValueId>> buckets,
                                               const ShardOptions& options) {
  return Sharder(builder, ranks, f, signature, options).Run(sites, marked, buckets);
}

}  // namespace hr::transform
