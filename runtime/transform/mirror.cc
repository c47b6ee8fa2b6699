#include "runtime/transform/mirror.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/graph/distribution.h"
#include "runtime/ops/optimizer.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/copy_signature.h"
#include "runtime/transform/example_numbers.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/shard_state.h"
#include "runtime/transform/sync_batch_norm.h"

namespace hr::transform {
namespace {

using Site = GradientSite;

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
      : builder_(builder),
        name_(signature),
        group_(group),
        options_(options),
        f_(builder, Cat(signature, "/mirrored")),
        ranks_(builder, group, options.overlap) {}

  Status Run() {
    needed_ = NodesOfSignature(graph(), signature());
    HR_RETURN_IF_ERROR(CheckSilent());
    const std::vector<Site> sites = FindSites();
    if (sites.empty()) {
      return FailedPrecondition(
          "signature '", name_,
          "' updates no variable by a gradient; call hr_graph_minimize first");
    }
    HR_RETURN_IF_ERROR(FindExamples());
    HR_ASSIGN_OR_RETURN(const auto draws, DrawsOfExamples(builder_, needed_, batch_));
    std::vector<NodeId> norms;
    if (options_.sync_batch_norm) norms = BatchStatisticsNodes(builder_, needed_);
    HR_RETURN_IF_ERROR(KeepToSignature(builder_, name_, draws));
    HR_RETURN_IF_ERROR(KeepToSignature(builder_, name_, norms));
    HR_RETURN_IF_ERROR(NumberByExample(builder_, ranks_, f_, draws, batch_));
    HR_RETURN_IF_ERROR(AddTotals());
    std::vector<graph::Shard> shards;
    if (options_.zero) {
      HR_ASSIGN_OR_RETURN(shards, Divide(sites));
    } else {
      for (const GradientBucket& bucket : Fill(sites)) HR_RETURN_IF_ERROR(Average(bucket));
      for (const Site& site : sites) Replace(site);
    }
    HR_RETURN_IF_ERROR(SynchronizeBatchNorm(builder_, ranks_, f_, norms, needed_, weight_));
    HR_RETURN_IF_ERROR(ranks_.Order());
    for (const graph::Shard& shard : shards) {
      const auto [key, value] = graph::ShardMetadata(module(), shard);
      builder_.SetMetadata(key, value);
    }
    return {};
  }

 private:
  const graph::Module& module() const { return builder_.module(); }
  const graph::Graph& graph() const { return builder_.graph(); }
  const graph::ValueType& TypeOf(ValueId value) const { return graph().values[value].type; }
  graph::Signature& signature() { return builder_.SignatureNamed(name_); }

  // The step must not communicate in the group already, nor be distributed over another one: a mean
  // of means counts examples wrongly. The host's own nodes may use other groups.
  Status CheckSilent() const {
    const auto known = graph::DistributionsOf(module());
    for (NodeId id = 0; id < needed_.size(); ++id) {
      const graph::Node& node = graph().nodes[id];
      if (!needed_[id] || module().OperatorOf(node).domain != ops::kComm) continue;
      const std::string_view its = node.String("group", "");
      const bool distributed = std::any_of(known.begin(), known.end(),
                                           [&](const auto& one) { return one.group == its; });
      if (its != group_ && !distributed) continue;
      const std::string where = graph::NodeText(module(), graph(), id);
      if (its == group_ && !distributed) {
        return AlreadyExists("signature '", name_, "' communicates in the group '", group_,
                             "' already, in node '", where, "'; use another name for that group");
      }
      return AlreadyExists("signature '", name_, "' is distributed over the group '", its,
                           "' already, in node '", where,
                           "'; distribute a signature once, over one group of all ranks that train "
                           "together");
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

  // Examples are counted by the first axis of the first input that leaves it open.
  Status FindExamples() {
    graph::Marks fed(graph().values.size(), false);
    for (const graph::Port& port : signature().inputs) fed[port.value] = true;
    batch_.fed = Followers(std::move(fed));
    for (const graph::Port& port : signature().inputs) {
      const graph::ValueType& type = TypeOf(port.value);
      if (!type.ranked || type.dims.empty() || type.dims[0].fixed()) continue;
      batch_.axis = type.dims[0];
      const ValueId first = f_.Emit("Shape", {port.value}, {{"start", 0}, {"end", 1}});
      batch_.examples = f_.ReduceAll("ReduceSum", first);
      break;
    }
    return f_.status();
  }

  // Outputs that are one floating-point number each and follow from the signature's inputs.
  std::vector<size_t> MeanOutputs() {
    std::vector<size_t> out;
    for (size_t i = 0; i < signature().outputs.size(); ++i) {
      const ValueId value = signature().outputs[i].value;
      const graph::ValueType& type = TypeOf(value);
      if (batch_.fed[value] && IsFloating(type.dtype) && type.rank() == 0) out.push_back(i);
    }
    return out;
  }

  // What a mean over this rank's examples adds to the sum; that of no examples is no number.
  ValueId Share(ValueId mean, ValueId examples) {
    const ValueId zero = f_.Number(0);
    return f_.Where(f_.Less(zero, examples), f_.Mul(mean, examples), zero);
  }

  // All ranks' numbers of examples and their outputs, in one operation at the end of the forward
  // pass.
  Status AddTotals() {
    const std::vector<size_t> outputs = MeanOutputs();
    const bool counted = batch_.examples != kNone;
    const ValueId examples = counted ? f_.Cast(batch_.examples, DType::kFloat64) : kNone;
    std::vector<ValueId> sums;
    for (size_t i : outputs) {
      const ValueId value = f_.Cast(signature().outputs[i].value, DType::kFloat64);
      sums.push_back(counted ? Share(value, examples) : value);
    }
    if (counted) sums.push_back(examples);
    HR_RETURN_IF_ERROR(f_.status());
    if (sums.empty()) return {};
    HR_ASSIGN_OR_RETURN(const auto totals, ranks_.AllReduce(sums, counted ? "sum" : "average"));
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph::Port& port = signature().outputs[outputs[i]];
      const ValueId mean = counted ? f_.Div(totals[i], totals.back()) : totals[i];
      port.value = f_.Cast(mean, TypeOf(port.value).dtype);
    }
    if (counted) weight_ = f_.Div(examples, totals.back());
    return f_.status();
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
    const bool narrow = options_.bf16 && bucket.dtype == DType::kFloat32;
    std::vector<ValueId> sent;
    for (ValueId gradient : bucket.gradients) {
      sent.push_back(narrow ? f_.Cast(gradient, DType::kBfloat16) : gradient);
    }
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const auto means,
                        ranks_.AllReduce(sent, weight_ == kNone ? "average" : "sum", weight_));
    for (size_t i = 0; i < means.size(); ++i) {
      means_.push_back({bucket.gradients[i], f_.Cast(means[i], bucket.dtype)});
    }
    return f_.status();
  }

  Result<std::vector<graph::Shard>> Divide(const std::vector<Site>& sites) {
    std::vector<std::vector<ValueId>> buckets;
    for (GradientBucket& bucket : Fill(sites)) buckets.push_back(std::move(bucket.gradients));
    return ShardUpdates(builder_, ranks_, f_, name_, sites, needed_, buckets,
                        {.ranks = options_.ranks, .weight = weight_, .bf16 = options_.bf16});
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
  Formula f_;
  RankNodes ranks_;
  graph::Marks needed_;
  BatchOfRank batch_;
  ValueId weight_ = kNone;                          // this rank's share of the examples
  std::vector<std::pair<ValueId, ValueId>> means_;  // of gradients
};

Status TakeSetting(std::string_view name, double value, MirrorOptions* options) {
  bool* const flag = name == "bf16"              ? &options->bf16
                     : name == "sync_batch_norm" ? &options->sync_batch_norm
                     : name == "zero"            ? &options->zero
                                                 : nullptr;
  if (flag != nullptr) {
    if (value != 0 && value != 1) return InvalidArgument(name, " is 0 or 1, got ", value);
    *flag = value == 1;
    return {};
  }
  constexpr double kMostRanks = 1 << 20;
  if (name == "ranks") {
    if (!(value >= 1 && value <= kMostRanks) || value != std::floor(value)) {
      return InvalidArgument("ranks is the size of the group, 1 or more; got ", value);
    }
    options->ranks = static_cast<int64_t>(value);
    return {};
  }
  if (name != "first_bucket" && name != "bucket") {
    return InvalidArgument(
        "the strategy 'mirrored' has no setting '", name,
        "'; it has first_bucket, bucket, bf16, overlap, sync_batch_norm, zero and "
        "ranks");
  }
  constexpr double kMost = 1e15;
  if (!(value >= 1 && value <= kMost)) {
    return InvalidArgument(name, " is a number of bytes, 1 or more; got ", value);
  }
  (name == "bucket" ? options->bucket : options->first_bucket) = static_cast<int64_t>(value);
  return {};
}

// Takes the one setting that is no number out of the text.
Result<bool> TakeOverlap(std::string* text) {
  constexpr std::string_view kName = " overlap=";
  const size_t at = text->find(kName);
  if (at == text->npos) return true;
  const size_t begin = at + kName.size(), end = std::min(text->find(' ', begin), text->size());
  const std::string value = text->substr(begin, end - begin);
  if (value != "auto" && value != "off") {
    return InvalidArgument("overlap is auto or off, got '", value, "'");
  }
  text->erase(at, end - at);
  return value == "auto";
}

}  // namespace

Result<MirrorOptions> ParseStrategy(std::string_view given) {
  MirrorOptions out;
  std::string text(given);
  HR_ASSIGN_OR_RETURN(out.overlap, TakeOverlap(&text));
  HR_ASSIGN_OR_RETURN(const NamedNumbers spec, ParseNamedNumbers(text));
  if (spec.name != "mirrored") {
    return InvalidArgument("there is no strategy '", spec.name, "'; there is mirrored");
  }
  for (const auto& [name, value] : spec.numbers) {
    HR_RETURN_IF_ERROR(TakeSetting(name, value, &out));
  }
  if (out.zero != (out.ranks != 0)) {
    return InvalidArgument(
        "zero=1, which divides the state of the optimizer among the ranks, needs ",
        "their number, as in 'mirrored zero=1 ranks=4'; ranks is for nothing else");
  }
  return out;
}

std::string StrategyText(const MirrorOptions& options) {
  const MirrorOptions usual;
  std::string text = "mirrored";
  const auto add = [&](std::string_view name, int64_t value, int64_t otherwise) {
    if (value != otherwise) text += Cat(" ", name, "=", value);
  };
  add("first_bucket", options.first_bucket, usual.first_bucket);
  add("bucket", options.bucket, usual.bucket);
  add("bf16", options.bf16, usual.bf16);
  add("sync_batch_norm", options.sync_batch_norm, usual.sync_batch_norm);
  if (!options.overlap) text += " overlap=off";
  add("zero", options.zero, usual.zero);
  return text;
}

Status Mirror(GraphBuilder& builder, std::string_view signature, std::string_view group,
              const MirrorOptions& options) {
  if (builder.module().FindSignature(signature) == nullptr) {
    return NotFound("there is no signature '", signature, "'");
  }
  if (group.empty()) return InvalidArgument("a group needs a name; it is what nodes call it by");
  HR_RETURN_IF_ERROR(
      builder.AllOrNothing([&] { return Mirrorer(builder, signature, group, options).Run(); }));
  const auto [key, value] = graph::DistributionMetadata(
      {std::string(signature), std::string(group), StrategyText(options)});
  builder.SetMetadata(key, value);
  return {};
}

}  // namespace hr::transform
