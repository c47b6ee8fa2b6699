#include "runtime/session/model.h"

#include "runtime/base/errors.h"
#include "runtime/session/describe_model.h"

namespace hr::session {
namespace {

Status Unknown(Literal what, std::string_view name, std::span<const std::string> known) {
  std::string_view close = ClosestWord(name, known);
  std::string hint = !close.empty()     ? Cat("; did you mean '", close, "'?")
                     : known.size() < 9 ? Cat("; there are", ListText(known))
                                        : Cat("; there are ", known.size(), " others");
  return NotFound("the model has no ", what, " '", name, "'", hint);
}

template <typename Items>
std::vector<std::string> Names(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    if (!item.name.empty()) names.push_back(item.name);
  }
  return names;
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::Create(std::shared_ptr<Env> env, graph::Module module,
                                                   bool inspect_only) {
  Status fault = ops::CheckModule(env->operators(), module);
  if (!fault.ok() && !(inspect_only && fault.code() == Code::kUnimplemented)) return fault;
  std::shared_ptr<Model> model(new Model);
  model->fault_ = std::move(fault);
  model->env_ = std::move(env);
  model->env_->Freeze();
  model->module_ = std::move(module);
  const graph::Graph& main = model->module_.main();
  for (graph::ValueId id = 0; id < main.values.size(); ++id) {
    if (!main.values[id].name.empty()) model->values_.emplace(main.values[id].name, id);
  }
  for (graph::NodeId id = 0; id < main.nodes.size(); ++id) {
    if (!main.nodes[id].name.empty()) model->nodes_.emplace(main.nodes[id].name, id);
  }
  return std::shared_ptr<const Model>(std::move(model));
}

Result<const graph::Signature*> Model::FindSignature(std::string_view name) const {
  if (const graph::Signature* signature = module_.FindSignature(name)) return signature;
  return Unknown("signature", name, Names(module_.signatures));
}

Result<graph::ValueId> Model::FindValue(std::string_view name) const {
  if (auto found = values_.find(name); found != values_.end()) return found->second;
  return Unknown("value", name, Names(module_.main().values));
}

Result<graph::NodeId> Model::FindNode(std::string_view name) const {
  if (auto found = nodes_.find(name); found != nodes_.end()) return found->second;
  return Unknown("node", name, Names(module_.main().nodes));
}

Result<uint32_t> Model::FindVariable(std::string_view name) const {
  uint32_t index = module_.FindVariable(name);
  if (index != graph::kNone) return index;
  return Unknown("variable", name, Names(module_.variables));
}

std::string Model::Describe() const { return DescribeModel(module_); }

}  // namespace hr::session
