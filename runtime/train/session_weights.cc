#include "runtime/train/session_weights.h"

#include <set>

#include "runtime/base/errors.h"
#include "runtime/data/json.h"
#include "runtime/train/weights_file.h"

namespace hr::train {
namespace {

// What does not fit, all of which is told at once.
class Mismatches {
 public:
  void Add(std::string sentence) { sentences_.push_back(std::move(sentence)); }
  Status ToStatus(std::string_view path) const {
    if (sentences_.empty()) return {};
    std::string text =
        Cat("the weights in '", path, "' do not fit the model, which stays as it is:");
    for (const std::string& sentence : sentences_) text += Cat("\n- ", sentence);
    return InvalidArgument(text);
  }

 private:
  std::vector<std::string> sentences_;
};

// Which variables get which tensors.
class Match {
 public:
  Match(const graph::Module& module, const WeightsOptions& options)
      : module_(module), options_(options) {
    for (uint32_t i = 0; i < module.variables.size(); ++i) index_[module.variables[i].name] = i;
  }

  Status Find(std::vector<NamedWeight> weights, const std::string& path) {
    for (const auto& [file_name, variable] : options_.names) {
      if (variable && !index_.contains(*variable)) {
        mismatches_.Add(Cat("the model has no variable '", *variable, "', which '", file_name,
                            "' is mapped to"));
      }
    }
    for (NamedWeight& weight : weights) Take(std::move(weight));
    NoteLeft();
    return mismatches_.ToStatus(path);
  }

  const std::map<uint32_t, Tensor>& found() const { return found_; }
  const std::vector<std::string>& left() const { return left_; }

 private:
  void Take(NamedWeight weight) {
    const auto mapped = options_.names.find(weight.name);
    const bool is_mapped = mapped != options_.names.end();
    if (is_mapped && !mapped->second) return;
    const auto known = index_.find(is_mapped ? *mapped->second : weight.name);
    if (known == index_.end()) {
      if (is_mapped || options_.partial) return;
      return mismatches_.Add(Cat("the model has no variable '", weight.name, "'; map it"));
    }
    const graph::Variable& variable = module_.variables[known->second];
    if (weight.tensor.dtype() != variable.dtype || weight.tensor.dims() != variable.dims) {
      mismatches_.Add(Cat("variable '", variable.name, "' is ", DTypeName(variable.dtype),
                          ShapeText(variable.dims), ", the file has ", weight.tensor.TypeText()));
    }
    if (!found_.try_emplace(known->second, std::move(weight.tensor)).second) {
      mismatches_.Add(Cat("two tensors are for variable '", variable.name, "'"));
    }
  }

  void NoteLeft() {
    for (uint32_t i = 0; i < module_.variables.size(); ++i) {
      if (found_.contains(i)) continue;
      const graph::Variable& variable = module_.variables[i];
      left_.push_back(variable.name);
      if (options_.partial || !variable.trainable) continue;
      mismatches_.Add(Cat("the file has nothing for variable '", variable.name, "', ",
                          DTypeName(variable.dtype), ShapeText(variable.dims)));
    }
  }

  const graph::Module& module_;
  const WeightsOptions& options_;
  std::map<std::string_view, uint32_t> index_;
  std::map<uint32_t, Tensor> found_;
  std::vector<std::string> left_;
  Mismatches mismatches_;
};

// What variables are called in the file.
Result<std::map<std::string_view, std::string_view>> NamesInFile(const WeightNames& names) {
  std::map<std::string_view, std::string_view> out;
  for (const auto& [file_name, variable] : names) {
    if (variable && !out.try_emplace(*variable, file_name).second) {
      return InvalidArgument("the variable '", *variable, "' is mapped twice");
    }
  }
  return out;
}

}  // namespace

Result<WeightNames> ParseWeightNames(std::string_view json) {
  auto parsed = data::ParseJsonObject(json, "the mapping of names");
  if (!parsed.ok()) return InvalidArgument(parsed.status().message());
  WeightNames names;
  for (const auto& [key, value] : parsed->items()) {
    if (!value.is_string() && !value.is_null()) {
      return InvalidArgument("the mapping of names: '", key, "' is mapped to ", value.type_name(),
                             ", expected a variable's name or null");
    }
    auto& name = names[key];
    if (value.is_string()) name = value.get<std::string>();
  }
  return names;
}

Result<WeightsReport> ExportWeights(session::Session& session, const std::string& path,
                                    const WeightsOptions& options, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWeightsEnding(path));
  HR_ASSIGN_OR_RETURN(auto&& names, NamesInFile(options.names));
  const graph::Module& module = session.model().module();
  for (const auto& [variable, file_name] : names) {
    if (module.FindVariable(variable) != graph::kNone) continue;
    return InvalidArgument("the model has no variable '", variable, "', which '", file_name,
                           "' is mapped to");
  }
  const auto& variables = module.variables;
  WeightsReport report;
  HR_RETURN_IF_ERROR(
      session.ReadVariables(limits, [&](const session::VariableStore& store, int64_t) -> Status {
        std::vector<NamedWeight> weights;
        for (uint32_t i = 0; i < variables.size(); ++i) {
          if (options.trainable && !variables[i].trainable) continue;
          const auto mapped = names.find(variables[i].name);
          const std::string_view name = mapped == names.end() ? variables[i].name : mapped->second;
          HR_ASSIGN_OR_RETURN(auto&& tensor, store.Get(i).Contiguous(session.env().allocator()));
          report.bytes += tensor.bytes();
          weights.push_back({std::string(name), std::move(tensor)});
        }
        report.tensors = weights.size();
        std::set<std::string_view> unique;
        for (const NamedWeight& weight : weights) {
          if (unique.insert(weight.name).second) continue;
          return InvalidArgument("two variables would be called '", weight.name, "' in the file");
        }
        return WriteWeights(path, weights, limits);
      }));
  return report;
}

Result<WeightsReport> ImportWeights(session::Session& session, const std::string& path,
                                    const WeightsOptions& options, const CallLimits& limits) {
  Allocator& allocator = session.env().allocator();
  HR_ASSIGN_OR_RETURN(auto&& weights, ReadWeights(path, allocator));
  Match match(session.model().module(), options);
  HR_RETURN_IF_ERROR(match.Find(std::move(weights), path));
  if (session.tainted()) {
    return Tainted("an update of the session failed half-way; restore a checkpoint first");
  }
  HR_RETURN_IF_ERROR(session.RestoreVariables(
      limits, [&](session::VariableStore& store, int64_t*, uint64_t*) -> Status {
        for (const auto& [variable, tensor] : match.found()) {
          HR_RETURN_IF_ERROR(store.MakeWritable(allocator, variable));
        }
        for (const auto& [variable, tensor] : match.found()) {
          HR_RETURN_IF_ERROR(store.Set(allocator, variable, tensor));
        }
        return {};
      }));
  WeightsReport report{.tensors = match.found().size(), .left = match.left()};
  for (const auto& [variable, tensor] : match.found()) report.bytes += tensor.bytes();
  return report;
}

}  // namespace hr::train
