#include "tests/conformance/random_graphs/emitted.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/transform/compose.h"
#include "runtime/transform/gradients.h"
#include "tests/conformance/random_graphs/assemble.h"
#include "tests/conformance/random_graphs/generate.h"
#include "tests/unit/transform/gradient_cases.h"

namespace hr::random_graphs {
namespace {

using graph::NodeId;
using graph::ValueId;
using Names = std::set<std::string>;
using transform::GradientCase;

std::string NameOf(const graph::Operator& op) {
  return Cat(op.domain, op.domain.empty() ? "" : ".", op.name);
}

// The operators of the nodes from `first` on.
Names NamesOf(const graph::Module& module, size_t first = 0) {
  Names out;
  const auto& nodes = module.main().nodes;
  for (size_t i = first; i < nodes.size(); ++i) out.insert(NameOf(module.OperatorOf(nodes[i])));
  return out;
}

// Those that depend on data, and so are in no random graph.
std::vector<GradientCase> DataSizedCases() {
  using Case = GradientCase;
  std::vector<Case> out;
  out.push_back(Case("NonZero").Fixed({2, 3}, -1, 1));
  out.push_back(Case("Compress").Fixed({4}, -1, 1).Fed(DType::kBool, {4}, {1, 0, 1, 1}));
  out.push_back(Case("Compress")
                    .Fixed({4, 2}, -1, 1)
                    .Fed(DType::kBool, {4}, {1, 0, 1, 1})
                    .With("axis", int64_t{0}));
  out.push_back(Case("Unique").Fixed({4}, -1, 1).Outputs(4));
  out.push_back(Case("Unique").Fixed({4, 2}, -1, 1).Outputs(4).With("axis", int64_t{0}));
  out.push_back(Case("NonMaxSuppression")
                    .Fed(DType::kFloat32, {1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3})
                    .Fed(DType::kFloat32, {1, 1, 2}, {0.5, 0.25})
                    .Scalar(DType::kInt64, 2)
                    .Scalar(DType::kFloat32, 0.5)
                    .Scalar(DType::kFloat32, 0.1));
  return out;
}

// One node of a row of the gradient check, in a graph of its own.
class OneNode {
 public:
  OneNode(const ops::OpRegistry& registry, const GradientCase& row, bool shapes)
      : builder_(SystemAllocator(), registry), row_(row), shapes_(shapes) {}

  Result<NodeId> Build() {
    transform::NodeSpec spec{.domain = row_.domain,
                             .op = row_.op,
                             .version = row_.version,
                             .outputs = row_.outputs,
                             .attributes = row_.attributes};
    for (const GradientCase::Input& input : row_.inputs) {
      HR_ASSIGN_OR_RETURN(const ValueId id, Add(input));
      spec.inputs.push_back(id);
    }
    return builder_.AddNode(spec);
  }
  const graph::Module& module() const { return builder_.module(); }
  transform::GraphBuilder& builder() { return builder_; }
  const std::vector<ValueId>& xs() const { return xs_; }

 private:
  Result<ValueId> Add(const GradientCase::Input& input) {
    if (input.kind == GradientCase::Input::kOmitted) return graph::kNone;
    if (input.kind == GradientCase::Input::kConstant) {
      return builder_.Constant(reference::ToTensor(input.value));
    }
    graph::ValueType type = graph::ValueType::Tensor(input.value.dtype, input.value.dims);
    for (size_t axis = 0; axis < type.dims.size() && !shapes_; ++axis) {
      const auto& known = input.known_axes;
      if (std::find(known.begin(), known.end(), axis) == known.end()) type.dims[axis] = {};
    }
    HR_ASSIGN_OR_RETURN(const ValueId id, builder_.AddInput(Cat("x", count_++), type));
    if (input.kind == GradientCase::Input::kDifferentiated) xs_.push_back(id);
    return id;
  }

  transform::GraphBuilder builder_;
  const GradientCase& row_;
  const bool shapes_;
  size_t count_ = 0;
  std::vector<ValueId> xs_;
};

Result<Names> GradientOf(OneNode& one, NodeId node) {
  transform::GraphBuilder& builder = one.builder();
  std::vector<ValueId> ys;
  for (const ValueId output : builder.graph().nodes[node].outputs) {
    if (output != graph::kNone && IsFloating(builder.graph().values[output].type.dtype))
      ys.push_back(output);
  }
  const size_t before = builder.graph().nodes.size();
  HR_RETURN_IF_ERROR(AddGradients(builder, ys, one.xs()).status());
  return NamesOf(builder.module(), before);
}

}  // namespace

Emitted::Emitted(const ops::OpRegistry& registry) : registry_(registry) {
  for (const ops::OpDef* def : registry.all())
    rows_[Cat(def->domain, std::string_view(def->domain).empty() ? "" : ".", def->name)];
}

void Emitted::RecordNode(const graph::Module& module, NodeId id) {
  const graph::Operator& op = module.OperatorOf(module.main().nodes[id]);
  if (registry_.Get(op).value()->compose == nullptr) return;
  transform::GraphBuilder builder(SystemAllocator(), registry_, module);
  const size_t before = builder.graph().nodes.size();
  const std::vector<ValueId> inputs = builder.graph().nodes[id].inputs;
  if (!transform::EmitComposition(builder, id, inputs).ok()) return;  // it needs to know more
  rows_[NameOf(op)].composed.merge(NamesOf(builder.module(), before));
}

Status Emitted::RecordCases() {
  std::vector<GradientCase> rows = transform::GradientCases();
  for (GradientCase& row : DataSizedCases()) rows.push_back(std::move(row));
  for (const GradientCase& row : rows) {
    for (const bool shapes : {true, false}) {
      OneNode one(registry_, row, shapes);
      HR_ASSIGN_OR_RETURN(const NodeId node, one.Build());
      RecordNode(one.module(), node);
      if (one.xs().empty()) continue;
      const std::string name = NameOf(one.module().OperatorOf(one.module().main().nodes[node]));
      HR_ASSIGN_OR_RETURN(Names gradient, GradientOf(one, node));
      rows_[name].gradient.merge(std::move(gradient));
    }
  }
  return {};
}

Status Emitted::Record(uint64_t seed, uint64_t count) {
  HR_RETURN_IF_ERROR(RecordCases());
  for (uint64_t i = 0; i < count; ++i) {
    auto module = Assemble(registry_, Generate(registry_, seed + i), i % 2 == 1);
    if (!module.ok()) continue;
    for (NodeId id = 0; id < module->main().nodes.size(); ++id) RecordNode(*module, id);
  }
  return {};
}

namespace {

constexpr std::string_view kAlways = "always:";

constexpr std::string_view kHead =
    R"(# What the rules of each operator emit: "name: its composition | its gradients". A build with some of
# the operators (HEADRACE_OPERATORS) takes these along, and what every program may come to have:
# the line `always`, which is written by hand. The others are written by
#   build/bin/random_graphs --emitted runtime/ops/emitted.txt --write
)";

Result<std::string> AlwaysOf(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kAlways)) return line;
  }
  return NotFound("'", path, "' has no line '", kAlways, "'");
}

std::string Joined(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += Cat(" ", name);
  return out;
}

}  // namespace

Result<std::string> Emitted::Text(const std::string& path) const {
  HR_ASSIGN_OR_RETURN(const std::string always, AlwaysOf(path));
  std::istringstream words(always.substr(kAlways.size()));
  Names known;
  for (std::string word; words >> word;) known.insert(word);
  std::string out = Cat(kHead, always, "\n");
  for (const auto& [name, row] : rows_) {
    Names composed = row.composed, gradient = row.gradient;
    for (Names* names : {&composed, &gradient}) {
      std::erase_if(*names, [&](const std::string& n) {
        return known.contains(n) || n == name || !rows_.contains(n);
      });
    }
    std::erase_if(gradient, [&](const std::string& n) { return composed.contains(n); });
    out += Cat(name, ":", Joined(composed));
    if (!gradient.empty()) out += Cat(" |", Joined(gradient));
    out += "\n";
  }
  return out;
}

}  // namespace hr::random_graphs
