#include "runtime/transform/adapter.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/transform/adapter_site.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/formula.h"
#include "runtime/transform/name_pattern.h"
#include "runtime/transform/specialize.h"
#include "runtime/transform/tensor_numbers.h"

namespace hr::transform {
namespace {

struct AdapterVariables {
  uint32_t a = kNone, b = kNone, scale = kNone;
};

struct AdapterDims {
  Dims a, b;
};
AdapterDims DimsOf(const graph::Module& module, const AdapterSite& site, int64_t rank) {
  const SiteSizes sizes = SizesOf(module, site);
  if (site.kind != SiteKind::kConv) return {{sizes.inputs, rank}, {rank, sizes.outputs}};
  AdapterDims out{.a = *module.main().values[site.value].type.FixedDims()};
  out.b = Dims(out.a.size(), 1);
  out.a[0] = rank;
  out.b[0] = sizes.outputs;
  out.b[1] = rank;
  return out;
}

Status CheckRank(const graph::Module& module, const AdapterSite& site, int64_t rank) {
  const SiteSizes sizes = SizesOf(module, site);
  const int64_t most = std::min(sizes.inputs, sizes.outputs);
  if (rank <= most) return {};
  return InvalidArgument("an adapter of '", site.weight, "' has a rank of at most ", most,
                         ", that of its ", sizes.inputs, " x ", sizes.outputs, " numbers, got ",
                         rank);
}

// Adds the nodes of adapters, and connects them when all are there.
class Attacher {
 public:
  explicit Attacher(GraphBuilder& builder) : builder_(builder) {}

  Status Add(const AdapterSite& site, const AdapterVariables& variables, double dropout) {
    const graph::Node node = builder_.graph().nodes[site.node];
    const std::string device = builder_.SetDevice(node.device);
    Formula f(builder_, site.weight);
    ValueId x = node.inputs[0];
    if (site.kind == SiteKind::kGemm && node.Int("transA", 0) != 0) x = f.Emit("Transpose", {x});
    if (dropout != 0) x = f.Emit("Dropout", {x, f.Number(dropout, DType::kFloat32), True(f)});
    const ValueId a = f.AtStart(variables.a), b = f.AtStart(variables.b);
    ValueId delta = kNone;
    if (site.kind == SiteKind::kConv) {
      const ValueId inner =
          f.EmitMany(ops::kOnnx, "Conv", std::vector{x, a}, 1, node.attributes)[0];
      delta = f.Emit("Conv", {inner, b});
    } else {
      delta = f.Emit("MatMul", {f.Emit("MatMul", {x, a}), b});
      if (site.kind == SiteKind::kGemm) delta = f.Scale(delta, node.Float("alpha", 1));
    }
    const ValueId sum = f.Add(node.outputs[0], f.Mul(delta, f.AtStart(variables.scale)));
    HR_RETURN_IF_ERROR(f.status());
    builder_.SetDevice(device);
    sums_.emplace_back(node.outputs[0], sum);
    return {};
  }

  // Lets everything use the sums, under the names of what they stand for.
  Status Connect() {
    for (const auto& [was, is] : sums_) {
      HR_RETURN_IF_ERROR(builder_.ReplaceValue(was, is));
      const std::string name = builder_.graph().values[was].name;
      if (name.empty()) continue;
      HR_RETURN_IF_ERROR(builder_.RenameValue(was, builder_.UniqueName(Cat(name, "/base"))));
      HR_RETURN_IF_ERROR(builder_.RenameValue(is, name));
    }
    return {};
  }

  size_t count() const { return sums_.size(); }

 private:
  ValueId True(Formula& f) { return f.Cast(f.Integer(1), DType::kBool); }

  GraphBuilder& builder_;
  std::vector<std::pair<ValueId, ValueId>> sums_;
};

Status CheckNoUpdates(const GraphBuilder& builder) {
  for (const graph::Signature& signature : builder.module().signatures) {
    for (NodeId target : signature.targets) {
      const graph::Node& node = builder.graph().nodes[target];
      if (builder.module().OperatorOf(node).domain != ops::kTrain) continue;
      return FailedPrecondition("signature '", signature.name,
                                "' updates variables already, without the adapters; add adapters "
                                "first, or remove that signature and prune the graph");
    }
  }
  return {};
}

void FreezeOthers(GraphBuilder& builder) {
  for (uint32_t i = 0; i < builder.module().variables.size(); ++i) {
    const std::string& name = builder.module().variables[i].name;
    if (!IsAdapterPart(name)) builder.SetTrainable(i, false).IgnoreError();
  }
}

// ---- New ones ----

std::vector<std::string> UniqueNames(const graph::Module& module,
                                     std::span<const AdapterSite> sites) {
  std::vector<std::string> out;
  for (const AdapterSite& site : sites) {
    out.push_back(site.weight);
    const std::string& node = module.main().nodes[site.node].name;
    if (!node.empty()) out.push_back(node);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<std::vector<AdapterSite>> ChooseSites(const GraphBuilder& builder,
                                             std::string_view patterns) {
  std::vector<AdapterSite> sites = SitesOf(builder.module());
  const auto names = UniqueNames(builder.module(), sites);
  HR_ASSIGN_OR_RETURN(auto&& fits,
                      MatchNames("product or convolution with a weight", patterns, names));
  const auto is_chosen = [&](const std::string& name) {
    const auto at = std::lower_bound(names.begin(), names.end(), name);
    return at != names.end() && *at == name && fits[static_cast<size_t>(at - names.begin())];
  };
  std::erase_if(sites, [&](const AdapterSite& site) {
    return !is_chosen(site.weight) && !is_chosen(builder.graph().nodes[site.node].name);
  });
  return sites;
}

class NewAdapters {
 public:
  NewAdapters(GraphBuilder& builder, const AdapterOptions& options)
      : builder_(builder), options_(options) {}

  Result<AdapterVariables> For(const AdapterSite& site) {
    auto [entry, is_new] = known_.try_emplace(site.weight);
    if (!is_new) return entry->second;
    HR_RETURN_IF_ERROR(CheckRank(builder_.module(), site, options_.rank));
    const DType dtype = builder_.graph().values[site.value].type.dtype;
    const AdapterDims dims = DimsOf(builder_.module(), site, options_.rank);
    const SiteSizes sizes = SizesOf(builder_.module(), site);
    const double bound = 1 / std::sqrt(static_cast<double>(sizes.inputs));
    NodeSpec uniform{.op = "RandomUniform",
                     .attributes = graph::Attributes({{"dtype", static_cast<int64_t>(dtype)},
                                                      {"shape", dims.a},
                                                      {"low", -bound},
                                                      {"high", bound}})};
    AdapterVariables& out = entry->second;
    HR_ASSIGN_OR_RETURN(out.a, builder_.AddVariable(Cat(site.weight, kLoraA), dtype, dims.a, true,
                                                    std::move(uniform)));
    HR_ASSIGN_OR_RETURN(out.b, Filled(Cat(site.weight, kLoraB), dtype, dims.b, 0, true));
    const double alpha = options_.alpha == 0 ? static_cast<double>(options_.rank) : options_.alpha;
    const double scale = alpha / static_cast<double>(options_.rank);
    HR_ASSIGN_OR_RETURN(out.scale, Filled(Cat(site.weight, kLoraScale), dtype, {}, scale, false));
    return out;
  }

 private:
  Result<uint32_t> Filled(const std::string& name, DType dtype, const Dims& dims, double value,
                          bool trainable) {
    HR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(builder_.allocator(), dtype, dims));
    for (int64_t i = 0; i < tensor.elements(); ++i) SetNumberAt(tensor, i, value);
    return builder_.AddVariable(name, std::move(tensor), trainable);
  }

  GraphBuilder& builder_;
  const AdapterOptions& options_;
  std::map<std::string, AdapterVariables> known_;  // by weight
};

graph::Marks NeededBy(const graph::Module& module, const graph::Signature& signature) {
  Request request{.targets = signature.targets};
  for (const graph::Port& port : signature.outputs) request.fetches.push_back(port.value);
  return NeededNodes(module.main(), graph::Marks(module.main().values.size(), false), request);
}

// Drops out where a node serves `training`; no such node may serve another signature.
Result<graph::Marks> DropoutOf(const graph::Module& module, std::span<const AdapterSite> sites,
                               std::string_view training) {
  const graph::Signature* own = module.FindSignature(training);
  if (own == nullptr) {
    return InvalidArgument("dropout of adapters needs the signature that trains, got '", training,
                           "', which the graph does not have");
  }
  const graph::Marks trained = NeededBy(module, *own);
  if (std::ranges::none_of(sites, [&](const AdapterSite& site) { return trained[site.node]; }))
    return InvalidArgument("signature '", training, "' uses none of the nodes with adapters");
  for (const graph::Signature& signature : module.signatures) {
    if (&signature == own) continue;
    const graph::Marks needed = NeededBy(module, signature);
    for (const AdapterSite& site : sites) {
      if (!needed[site.node] || !trained[site.node]) continue;
      return FailedPrecondition("'", graph::NodeText(module, module.main(), site.node),
                                "' serves signature '", signature.name, "' as well as '", training,
                                "', so its inputs cannot be dropped out; make '", training,
                                "' a copy (hr_graph_copy_signature)");
    }
  }
  return trained;
}

// ---- Trained ones ----

// Adds the variables of the adapter, whose tensors must be what the site needs.
Result<AdapterVariables> VariablesOf(GraphBuilder& builder, const AdapterSite& site,
                                     const TrainedAdapter& adapter) {
  const Dims& a = adapter.a.dims();
  const size_t rank_axis = site.kind == SiteKind::kConv ? 0 : 1;
  const int64_t rank = a.size() > rank_axis ? a[rank_axis] : 0;
  const AdapterDims dims = DimsOf(builder.module(), site, rank);
  const DType dtype = builder.graph().values[site.value].type.dtype;
  const bool same_type =
      adapter.a.dtype() == dtype && adapter.b.dtype() == dtype && adapter.scale.dtype() == dtype;
  if (!same_type || rank < 1 || a != dims.a || adapter.b.dims() != dims.b ||
      !adapter.scale.dims().empty()) {
    return InvalidArgument("the adapter of '", site.weight, "' is ", adapter.a.TypeText(), " and ",
                           adapter.b.TypeText(), " with a scale ", adapter.scale.TypeText(),
                           ", and the weight wants ", DTypeName(dtype), ShapeText(dims.a), " and ",
                           ShapeText(dims.b), " with a scalar for this rank");
  }
  HR_RETURN_IF_ERROR(CheckRank(builder.module(), site, rank));
  AdapterVariables out;
  HR_ASSIGN_OR_RETURN(out.a, builder.AddVariable(Cat(site.weight, kLoraA), adapter.a, true));
  HR_ASSIGN_OR_RETURN(out.b, builder.AddVariable(Cat(site.weight, kLoraB), adapter.b, true));
  HR_ASSIGN_OR_RETURN(out.scale,
                      builder.AddVariable(Cat(site.weight, kLoraScale), adapter.scale, false));
  return out;
}

Status Attach(GraphBuilder& builder, std::span<const AdapterSite> sites,
              const TrainedAdapter& adapter, Attacher* attacher) {
  std::vector<std::string> names;
  std::optional<AdapterVariables> variables;
  for (const AdapterSite& site : sites) {
    names.push_back(site.weight);
    if (site.weight != adapter.weight) continue;
    if (!variables) {
      HR_ASSIGN_OR_RETURN(variables, VariablesOf(builder, site, adapter));
    }
    HR_RETURN_IF_ERROR(attacher->Add(site, *variables, 0));
  }
  if (variables) return {};
  return graph::UnknownName("graph", "product or convolution with the weight", adapter.weight,
                            names);
}

}  // namespace

Result<AdapterOptions> ParseAdapterOptions(std::string_view text) {
  AdapterOptions out;
  HR_ASSIGN_OR_RETURN(auto&& spec, ParseNamedNumbers(Cat("adapter ", text)));
  for (const auto& [name, value] : spec.numbers) {
    constexpr double kMostRank = 1 << 20;
    if (name == "rank") {
      if (!(value >= 1 && value <= kMostRank) || value != std::floor(value))
        return InvalidArgument("rank is a whole number from 1 on, got ", value);
      out.rank = static_cast<int64_t>(value);
    } else if (name == "alpha") {
      if (!(value > 0) || std::isinf(value))
        return InvalidArgument("alpha is above 0 and finite, got ", value);
      out.alpha = value;
    } else if (name == "dropout") {
      if (!(value >= 0 && value < 1))
        return InvalidArgument("dropout is at least 0 and below 1, got ", value);
      out.dropout = value;
    } else {
      return InvalidArgument("adapters have a rank, alpha and dropout, got '", name, "'");
    }
  }
  return out;
}

Result<size_t> AddAdapters(GraphBuilder& builder, std::string_view patterns,
                           const AdapterOptions& options, std::string_view training) {
  HR_RETURN_IF_ERROR(CheckNoUpdates(builder));
  HR_ASSIGN_OR_RETURN(const auto sites, ChooseSites(builder, patterns));
  graph::Marks drops(builder.graph().nodes.size(), false);
  if (options.dropout != 0) {
    HR_ASSIGN_OR_RETURN(drops, DropoutOf(builder.module(), sites, training));
  }
  return builder.AllOrNothing([&]() -> Result<size_t> {
    NewAdapters adapters(builder, options);
    Attacher attacher(builder);
    for (const AdapterSite& site : sites) {
      HR_ASSIGN_OR_RETURN(const AdapterVariables variables, adapters.For(site));
      const double dropout = drops[site.node] ? options.dropout : 0;
      HR_RETURN_IF_ERROR(attacher.Add(site, variables, dropout));
    }
    HR_RETURN_IF_ERROR(attacher.Connect());
    FreezeOthers(builder);
    return attacher.count();
  });
}

Result<size_t> AttachAdapters(GraphBuilder& builder, std::span<const TrainedAdapter> adapters) {
  HR_RETURN_IF_ERROR(CheckNoUpdates(builder));
  const auto sites = SitesOf(builder.module());
  return builder.AllOrNothing([&]() -> Result<size_t> {
    Attacher attacher(builder);
    for (const TrainedAdapter& adapter : adapters)
      HR_RETURN_IF_ERROR(Attach(builder, sites, adapter, &attacher));
    HR_RETURN_IF_ERROR(attacher.Connect());
    FreezeOthers(builder);
    return attacher.count();
  });
}

bool IsAdapterPart(std::string_view name) {
  return name.ends_with(kLoraA) || name.ends_with(kLoraB) || name.ends_with(kLoraScale);
}

}  // namespace hr::transform
