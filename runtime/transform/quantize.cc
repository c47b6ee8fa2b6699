#include "runtime/transform/quantize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/formula.h"
#include "runtime/transform/name_pattern.h"
#include "runtime/transform/quantized_weight.h"

namespace hr::transform {
namespace {

struct Name {
  std::string_view name;
  Quantization how;
};
constexpr Name kNames[] = {{"weights", Quantization::kWeights},
                           {"dynamic", Quantization::kDynamic},
                           {"static", Quantization::kStatic},
                           {"float16", Quantization::kFloat16},
                           {"bfloat16", Quantization::kBfloat16}};

std::string_view NameOf(Quantization how) {
  for (const Name& known : kNames) {
    if (known.how == how) return known.name;
  }
  return "";
}

constexpr unsigned Bit(Quantization how) { return 1u << static_cast<unsigned>(how); }
constexpr unsigned kStatic = Bit(Quantization::kStatic), kBfloat16 = Bit(Quantization::kBfloat16),
                   kIntegers = kStatic | Bit(Quantization::kWeights) | Bit(Quantization::kDynamic),
                   kAll = kIntegers | kBfloat16 | Bit(Quantization::kFloat16);
bool IsInteger(Quantization how) { return (Bit(how) & kIntegers) != 0; }

bool TakeFlag(double value, bool* out) {
  *out = value == 1;
  return value == 0 || value == 1;
}

bool TakePercentile(double value, QuantizeOptions* options) {
  options->percentile = value;
  return value > 50 && value <= 100;
}

bool TakeBatches(double value, QuantizeOptions* options) {
  constexpr double kMost = 1e9;
  const bool fits = value >= 0 && value <= kMost && value == std::floor(value);
  if (fits) options->batches = static_cast<int64_t>(value);
  return fits;
}

struct QuantizeSetting {
  std::string_view name;
  unsigned ways;  // bits of those that have it
  std::string_view expected;
  bool (*take)(double value, QuantizeOptions* options);
};
constexpr std::string_view kFlag = "0 or 1";
constexpr QuantizeSetting kSettings[] = {
    {"per_channel", kIntegers, kFlag,
     [](double value, QuantizeOptions* o) { return TakeFlag(value, &o->per_channel); }},
    {"embeddings", kAll, kFlag,
     [](double value, QuantizeOptions* o) { return TakeFlag(value, &o->embeddings); }},
    {"percentile", kStatic, "the share that stays, above 50 and at most 100", TakePercentile},
    {"entropy", kStatic, kFlag,
     [](double value, QuantizeOptions* o) { return TakeFlag(value, &o->entropy); }},
    {"batches", kStatic, "a whole number, 0 for all", TakeBatches},
    {"activations", kBfloat16, kFlag,
     [](double value, QuantizeOptions* o) { return TakeFlag(value, &o->activations); }},
};

Status TakeOption(std::string_view name, double value, QuantizeOptions* options) {
  std::string known;
  for (const QuantizeSetting& setting : kSettings) {
    if ((setting.ways & Bit(options->how)) == 0) continue;
    known += Cat(known.empty() ? "" : ", ", setting.name);
    if (setting.name != name) continue;
    if (setting.take(value, options)) return {};
    return InvalidArgument(name, " is ", setting.expected, ", got ", value);
  }
  return InvalidArgument("the settings of ", NameOf(options->how), " are ", known, ", got '", name,
                         "'");
}

}  // namespace

Result<QuantizeOptions> ParseQuantizeOptions(std::string_view text) {
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(text));
  QuantizeOptions out;
  const auto* const known =
      std::ranges::find_if(kNames, [&](const Name& n) { return n.name == spec.name; });
  if (known == std::end(kNames)) {
    return InvalidArgument(
        "a model is quantized as weights, dynamic, static, float16 or bfloat16, got '", spec.name,
        "'");
  }
  out.how = known->how;
  for (const auto& [name, value] : spec.numbers) {
    HR_RETURN_IF_ERROR(TakeOption(name, value, &out));
  }
  if (out.entropy && out.percentile < 100)
    return InvalidArgument("entropy finds the share that stays; leave percentile out");
  return out;
}

// ---- Choice ----

namespace {

std::string WhyNot(const graph::Module& module, const AdapterSite& site) {
  const graph::Node& node = module.main().nodes[site.node];
  if (module.main().values[site.value].type.dtype != DType::kFloat32) {
    return "its weight is not float32";
  }
  const bool plain =
      node.Int("transA", 0) == 0 && node.Float("alpha", 1) == 1 && node.Float("beta", 1) == 1;
  return site.kind == SiteKind::kGemm && !plain ? "it has transA, alpha or beta" : "";
}

}  // namespace

Result<Quantizer> Quantizer::Create(GraphBuilder& builder, std::string_view signature,
                                    const QuantizeOptions& options, std::string_view patterns) {
  Quantizer out(builder, std::string(signature), options);
  HR_RETURN_IF_ERROR(out.Choose(patterns));
  return out;
}

Status Quantizer::Choose(std::string_view patterns) {
  const graph::Module& module = builder_->module();
  const graph::Signature* found = module.FindSignature(signature_);
  if (found == nullptr) {
    return graph::UnknownName("graph", "signature", signature_, graph::NamesOf(module.signatures));
  }
  const graph::Marks needed = NodesOfSignature(module.main(), *found);
  std::vector<AdapterSite> sites;
  std::vector<std::string> names;
  for (NodeId id = 0; id < module.main().nodes.size(); ++id) {
    if (!needed[id]) continue;
    auto site = SiteOf(module, id, true);
    if (!site && options_.embeddings) site = TableOf(module, id);
    if (site) {
      names.push_back(module.main().nodes[id].name);
      names.push_back(site->weight);
      sites.push_back(std::move(*site));
    }
  }
  std::vector<char> chosen(names.size(), true);
  if (!patterns.empty()) {
    HR_ASSIGN_OR_RETURN(chosen, MatchNames("node or weight", patterns, names));
  }
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!chosen[2 * i] && !chosen[2 * i + 1]) continue;
    const graph::Node& node = module.main().nodes[sites[i].node];
    const std::string why = WhyNot(module, sites[i]);
    if (!why.empty()) skipped_.emplace_back(node.name, why);
    if (!why.empty()) continue;
    const ValueId input = sites[i].kind == SiteKind::kGather ? kNone : node.inputs[0];
    products_.push_back({std::move(sites[i]), node.name, input});
  }
  if (!products_.empty()) return {};
  return FailedPrecondition(
      "there is nothing to quantize: signature '", signature_, "' has no MatMul, Gemm or Conv",
      options_.embeddings ? ", and no Gather," : "",
      " whose weight is a variable or constant of float32",
      skipped_.empty() ? "" : Cat("; '", skipped_[0].first, "' stays: ", skipped_[0].second));
}

std::vector<ValueId> Quantizer::Inputs() const {
  std::vector<ValueId> out;
  for (const QuantizedProduct& product : products_) {
    const bool is_new = std::find(out.begin(), out.end(), product.input) == out.end();
    if (product.input != kNone && is_new) out.push_back(product.input);
  }
  return out;
}

// ---- Rewriting ----

namespace {

class Rewriter {
 public:
  Rewriter(GraphBuilder& builder, const QuantizeOptions& options,
           const std::map<ValueId, ValueRange>& ranges)
      : builder_(builder), options_(options), ranges_(ranges) {}

  Status Add(const QuantizedProduct& product) {
    const AdapterSite& site = product.site;
    HR_ASSIGN_OR_RETURN(const Tensor weight, WeightOf(builder_.module(), site));
    if (counted_.insert(site.weight).second) before_ += weight.bytes();
    Formula f(builder_, product.name);
    if (site.kind == SiteKind::kGather) {
      inputs_.push_back({site.node, 0, Widened(f, product, weight)});
    } else if (options_.how == Quantization::kDynamic) {
      AddDynamic(f, product, weight);
    } else {
      if (options_.how == Quantization::kStatic) {
        inputs_.push_back({site.node, 0, Limited(f, product.input)});
      } else if (options_.activations) {
        inputs_.push_back({site.node, 0, Rounded(f, product.input)});
      }
      inputs_.push_back({site.node, 1, Widened(f, product, weight)});
    }
    return f.status();
  }

  Status Connect() {
    for (const auto& [from, to] : replaced_) HR_RETURN_IF_ERROR(builder_.ReplaceValue(from, to));
    for (const NewInput& input : inputs_) builder_.SetInput(input.node, input.index, input.value);
    return {};
  }

  size_t before() const { return before_; }
  size_t after() const { return after_; }

 private:
  struct NewInput {
    NodeId node;
    size_t index;
    ValueId value;
  };

  ValueId Keep(Formula& f, Tensor tensor) {
    after_ += tensor.bytes();
    return f.Constant(std::move(tensor));
  }

  // How a node takes a weight: the axis along which scales differ, and whether its axes are
  // swapped.
  struct Form {
    std::string weight;
    int64_t axis = 0;
    bool swap = false;
    auto operator<=>(const Form&) const = default;
  };

  // A weight in 8 bits: its numbers, and what they are multiplied by.
  struct Small {
    ValueId numbers = kNone;
    Tensor scales;
  };

  // What several nodes take in one form is stored once.
  const Small& Stored(Formula& f, const Form& form, const Tensor& weight) {
    auto [known, is_new] = stored_.try_emplace(form);
    if (!is_new) return known->second;
    auto small = QuantizedWeight::Of(weight, form.axis, form.swap, options_.per_channel,
                                     builder_.allocator());
    if (!small.ok()) return f.Fail(std::move(small).status()), known->second;
    after_ += small->scales.bytes();
    return known->second = {Keep(f, std::move(small->numbers)), std::move(small->scales)};
  }

  // The weight as the node takes it, stored in fewer bits.
  ValueId Widened(Formula& f, const QuantizedProduct& product, const Tensor& weight) {
    const AdapterSite& site = product.site;
    const bool rows = site.kind == SiteKind::kConv || site.kind == SiteKind::kGather;
    const Form form{site.weight, rows || IsTransposed(product) ? 0 : 1,
                    site.transposed != IsTransposed(product)};
    auto [known, is_new] = widened_.try_emplace(form, kNone);
    if (!is_new) return known->second;
    if (IsInteger(options_.how)) {
      const Small& small = Stored(f, form, weight);
      if (!f.ok()) return kNone;
      return known->second = f.Emit("DequantizeLinear", {small.numbers, f.Constant(small.scales)},
                                    {{"axis", form.axis}});
    }
    const DType to = options_.how == Quantization::kFloat16 ? DType::kFloat16 : DType::kBfloat16;
    auto small = Shortened(weight, to, form.swap, site.weight, builder_.allocator());
    if (!small.ok()) return f.Fail(std::move(small).status()), kNone;
    return known->second = f.Cast(Keep(f, std::move(small).value()), DType::kFloat32);
  }

  // The input through 16 bits.
  ValueId Rounded(Formula& f, ValueId input) {
    auto [known, is_new] = limited_.try_emplace(input, kNone);
    if (is_new) known->second = f.Cast(f.Cast(input, DType::kBfloat16), DType::kFloat32);
    return known->second;
  }

  bool IsTransposed(const QuantizedProduct& product) const {
    return product.site.kind == SiteKind::kGemm &&
           builder_.graph().nodes[product.site.node].Int("transB", 0) != 0;
  }

  // The input through 8 bits, as calibration says.
  ValueId Limited(Formula& f, ValueId input) {
    auto [known, is_new] = limited_.try_emplace(input, kNone);
    if (!is_new) return known->second;
    const ValueRange range = ranges_.at(input);
    const float low = static_cast<float>(std::min(range.low, 0.0));
    const float high = static_cast<float>(std::max(range.high, 0.0));
    const float scale = high > low ? (high - low) / 255 : 1;
    const auto zero = static_cast<uint8_t>(std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f));
    const ValueId s = f.Constant(MakeTensor<float>(builder_.allocator(), {}, std::span(&scale, 1)));
    const ValueId z =
        f.Constant(MakeTensor<uint8_t>(builder_.allocator(), {}, std::span(&zero, 1)));
    return known->second =
               f.Emit("DequantizeLinear", {f.Emit("QuantizeLinear", {input, s, z}), s, z});
  }

  // The input by its own range: its numbers, their scale and their zero point.
  const std::vector<ValueId>& Measured(Formula& f, ValueId input) {
    auto [known, is_new] = measured_.try_emplace(input);
    if (is_new) {
      known->second = f.EmitMany(ops::kOnnx, "DynamicQuantizeLinear", std::span(&input, 1), 3, {});
    }
    return known->second;
  }

  void AddDynamic(Formula& f, const QuantizedProduct& product, const Tensor& weight) {
    const AdapterSite& site = product.site;
    const graph::Node node = builder_.graph().nodes[site.node];  // a copy: the graph grows
    const bool conv = site.kind == SiteKind::kConv;
    // MatMulInteger takes [inputs, outputs].
    const Small& small = Stored(f, {site.weight, conv ? 0 : 1, !conv && site.transposed}, weight);
    const std::vector<ValueId> x = Measured(f, product.input);
    if (!f.ok()) return;
    Dims each = small.scales.dims();
    if (conv && !each.empty()) each.resize(weight.dims().size() - 1, 1);  // [n, 1, …]: of images
    const ValueId scales =
        f.Constant(MakeTensor<float>(builder_.allocator(), each, small.scales.span<const float>()));
    const ValueId operands[] = {x[0], small.numbers, x[2]};
    const ValueId sum = f.EmitMany(ops::kOnnx, conv ? "ConvInteger" : "MatMulInteger", operands, 1,
                                   conv ? node.attributes : std::vector<graph::Attribute>())[0];
    ValueId y = f.Mul(f.Cast(sum, DType::kFloat32), f.Mul(x[1], scales));
    if (node.inputs.size() > 2 && node.inputs[2] != kNone) {
      y = f.Add(y, conv ? BiasOfChannels(f, node.inputs[2], weight.dims().size()) : node.inputs[2]);
    }
    replaced_.emplace_back(node.outputs[0], y);
  }

  ValueId BiasOfChannels(Formula& f, ValueId bias, size_t rank) {
    std::vector<int64_t> axes;
    for (size_t i = 1; i + 1 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    return f.Emit("Unsqueeze", {bias, f.Ints(axes)});
  }

  GraphBuilder& builder_;
  const QuantizeOptions& options_;
  const std::map<ValueId, ValueRange>& ranges_;
  std::map<Form, Small> stored_;
  std::map<Form, ValueId> widened_;
  std::map<ValueId, ValueId> limited_;  // inputs through fewer bits
  std::map<ValueId, std::vector<ValueId>> measured_;
  std::set<std::string> counted_;
  std::vector<NewInput> inputs_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
  size_t before_ = 0, after_ = 0;
};

}  // namespace

Status Quantizer::Run(const std::map<ValueId, ValueRange>& ranges) {
  Rewriter rewriter(*builder_, options_, ranges);
  HR_RETURN_IF_ERROR(builder_->AllOrNothing([&]() -> Status {
    for (const QuantizedProduct& product : products_) {
      HR_RETURN_IF_ERROR(rewriter.Add(product).WithNode(product.name));
    }
    return rewriter.Connect();
  }));
  report_ = WriteReport(ranges, rewriter.before(), rewriter.after());
  std::vector<std::string> others;
  for (const graph::Signature& signature : builder_->module().signatures) {
    if (signature.name != signature_) others.push_back(signature.name);
  }
  for (const std::string& name : others) HR_RETURN_IF_ERROR(builder_->RemoveSignature(name));
  builder_->Prune();
  return {};
}

std::string Quantizer::WriteReport(const std::map<ValueId, ValueRange>& ranges, size_t before,
                                   size_t after) const {
  constexpr std::string_view kOps[] = {"MatMul", "Gemm", "Conv", "Gather"};
  JsonWriter json;
  json.BeginObject().Field("how", NameOf(options_.how)).Field("signature", signature_);
  json.Key("products").BeginArray();
  for (const QuantizedProduct& product : products_) {
    json.BeginObject()
        .Field("node", product.name)
        .Field("op", kOps[static_cast<size_t>(product.site.kind)])
        .Field("weight", product.site.weight);
    if (const auto range = ranges.find(product.input); range != ranges.end()) {
      json.Field("low", range->second.low).Field("high", range->second.high);
    }
    json.EndObject();
  }
  json.EndArray().Key("skipped").BeginArray();
  for (const auto& [node, reason] : skipped_) {
    json.BeginObject().Field("node", node).Field("reason", reason).EndObject();
  }
  json.EndArray().Field("bytes_before", before).Field("bytes_after", after).EndObject();
  return json.Take();
}

}  // namespace hr::transform
