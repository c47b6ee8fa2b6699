#include "tests/conformance/random_graphs/assemble.h"

#include "runtime/transform/gradients.h"

namespace hr::random_graphs {

using graph::kNone;
using graph::ValueId;

Assembler::Assembler(const ops::OpRegistry& registry, int64_t batch, int64_t bound)
    : builder_(SystemAllocator(), registry), batch_(batch), bound_(bound) {}

Status Assembler::AddInput(const Statement& statement) {
  const std::string& name = statement.results[0];
  graph::ValueType type = graph::ValueType::Tensor(statement.data.dtype, statement.data.dims);
  const bool named = bound_ != 0 && !type.dims.empty() && type.dims[0].size == batch_;
  if (named) type.dims[0] = {.size = graph::kUnknownDim, .symbol = builder_.AddSymbol("N")};
  HR_ASSIGN_OR_RETURN(values_[name], builder_.AddInput(name, std::move(type)));
  signature_.inputs.push_back({name, values_[name]});
  return named ? builder_.SetSymbolBounds("N", 1, bound_, {}) : Status();
}

Result<std::vector<graph::Attribute>> Assembler::AttributesOf(const Statement& statement) const {
  std::vector<graph::Attribute> out;
  for (const NamedAttribute& given : statement.attributes) {
    graph::AttributeValue value = given.value;
    if (!given.reference.empty()) {
      const std::string name = given.reference.substr(1);
      const bool tensor = given.reference[0] == '@';
      if (tensor ? !values_.contains(name) : !variables_.contains(name))
        return NotFound("attribute ", given.name, " refers to '", name, "', which is not known");
      if (tensor) {
        value = graph::TensorIndex{builder_.graph().values[values_.at(name)].constant};
      } else {
        value = int64_t{variables_.at(name)};
      }
    }
    out.push_back({given.name, std::move(value)});
  }
  return out;
}

Result<ValueId> Assembler::Value(const std::string& name) {
  if (name == "_") return ValueId{kNone};
  if (auto variable = variables_.find(name); variable != variables_.end())
    return builder_.Read(variable->second);
  auto found = values_.find(name);
  if (found == values_.end()) return NotFound("no value is called '", name, "'");
  return found->second;
}

Status Assembler::AddNode(const Statement& statement) {
  transform::NodeSpec spec{.domain = statement.domain,
                           .op = statement.op,
                           .version = statement.version,
                           .outputs = statement.results.size()};
  for (const std::string& operand : statement.operands) {
    HR_ASSIGN_OR_RETURN(ValueId value, Value(operand));
    spec.inputs.push_back(value);
  }
  HR_ASSIGN_OR_RETURN(spec.attributes, AttributesOf(statement));
  HR_ASSIGN_OR_RETURN(graph::NodeId id, builder_.AddNode(std::move(spec)));
  if (statement.effect()) signature_.targets.push_back(id);
  for (size_t i = 0; i < statement.results.size(); ++i) {
    const ValueId value = builder_.graph().nodes[id].outputs[i];
    if (statement.results[i] == "_") continue;
    values_[statement.results[i]] = value;
    HR_RETURN_IF_ERROR(builder_.RenameValue(value, statement.results[i]));
  }
  return {};
}

Status Assembler::AddGradient(const Statement& statement) {
  HR_ASSIGN_OR_RETURN(ValueId of, Value(statement.of));
  std::vector<ValueId> by;
  for (const std::string& operand : statement.operands) {
    HR_ASSIGN_OR_RETURN(ValueId value, Value(operand));
    by.push_back(value);
  }
  const ValueId ys[] = {of};
  HR_ASSIGN_OR_RETURN(auto grads, transform::AddGradients(builder_, ys, by));
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i] == kNone)
      return InvalidArgument(statement.of, " does not depend on ", statement.operands[i]);
    // A gradient may be another value, which keeps its name.
    values_[statement.results[i]] = grads[i];
  }
  return {};
}

Status Assembler::Add(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::kInput: return AddInput(statement);
    case Statement::Kind::kNode: return AddNode(statement);
    case Statement::Kind::kGradient: return AddGradient(statement);
    default: break;
  }
  const std::string& name = statement.results[0];
  if (statement.kind == Statement::Kind::kConstant) {
    HR_ASSIGN_OR_RETURN(values_[name], builder_.AddConstant(name, statement.data.Make()));
  } else {
    HR_ASSIGN_OR_RETURN(variables_[name], builder_.AddVariable(name, statement.data.Make(), true));
  }
  return {};
}

Result<graph::Module> Assembler::Finish(const std::vector<std::string>& fetches) {
  for (const std::string& fetch : fetches) {
    HR_ASSIGN_OR_RETURN(ValueId value, Value(fetch));
    signature_.outputs.push_back({fetch, value});
  }
  HR_RETURN_IF_ERROR(builder_.AddSignature(signature_));
  return builder_.Finish();
}

Result<graph::Module> Assemble(const ops::OpRegistry& registry, const Program& program,
                               bool bounded) {
  Assembler assembler(registry, program.batch, bounded ? program.bound : 0);
  for (const Statement& statement : program.statements) {
    HR_RETURN_IF_ERROR(assembler.Add(statement));
  }
  return assembler.Finish(program.fetches);
}

}  // namespace hr::random_graphs
