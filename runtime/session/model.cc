#include "runtime/session/model.h"

#include "runtime/graph/unknown_name.h"
#include "runtime/ops/control.h"
#include "runtime/session/describe_model.h"
#include "runtime/transform/compose.h"

namespace hr::session {

Result<std::shared_ptr<const Model>> Model::Create(std::shared_ptr<Env> env, graph::Module module,
                                                   bool inspect_only) {
  Status fault = ops::CheckModule(env->operators(), module);
  if (!fault.ok() && !inspect_only) return fault;
  // What is not known here, such as an attribute, may be known to another version.
  if (fault.code() == Code::kInvalidArgument) {
    fault = Unimplemented(fault.message()).WithNode(fault.node());
  }
  if (fault.ok()) HR_RETURN_IF_ERROR(ops::CheckBodies(env->operators(), module));
  std::shared_ptr<Model> model(new Model);
  model->fault_ = std::move(fault);
  model->env_ = std::move(env);
  model->env_->Freeze();
  model->module_ = std::move(module);
  const ops::OpRegistry& operators = model->env_->operators();
  if (model->fault_.ok() && transform::HasComposed(operators, model->module_)) {
    HR_ASSIGN_OR_RETURN(
        auto&& composition,
        transform::ComposedWhereKnown(model->env_->allocator(), operators, model->module_));
    model->composed_ = std::move(composition.module);
  }
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
  return graph::UnknownName("model", "signature", name, graph::NamesOf(module_.signatures));
}

Result<graph::ValueId> Model::FindValue(std::string_view name) const {
  if (auto found = values_.find(name); found != values_.end()) return found->second;
  return graph::UnknownName("model", "value", name, graph::NamesOf(module_.main().values));
}

Result<graph::NodeId> Model::FindNode(std::string_view name) const {
  if (auto found = nodes_.find(name); found != nodes_.end()) return found->second;
  return graph::UnknownName("model", "node", name, graph::NamesOf(module_.main().nodes));
}

Result<uint32_t> Model::FindVariable(std::string_view name) const {
  uint32_t index = module_.FindVariable(name);
  if (index != graph::kNone) return index;
  return graph::UnknownName("model", "variable", name, graph::NamesOf(module_.variables));
}

std::string Model::Describe() const { return DescribeModel(module_); }

}  // namespace hr::session
