#include "capi/src/graph_text.h"
#include "runtime/base/errors.h"

namespace hr::capi {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

class DotWriter {
 public:
  explicit DotWriter(const GraphView& view) : view_(view) {}

  std::string Write() {
    out_ =
        "digraph model {\n"
        "  rankdir=TB;\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10, color=gray40];\n";
    for (graph::ValueId input : view_.graph.inputs) {
      if (view_.values[input]) Ellipse(Cat("v", input), input);
    }
    for (graph::NodeId id : view_.order) {
      if (view_.nodes[id]) Node(id);
    }
    for (graph::ValueId output : view_.graph.outputs) Output(output, "output");
    bool main = &view_.graph == &view_.module.main();
    for (const graph::Signature& signature : view_.module.signatures) {
      if (!main) break;
      for (const graph::Port& port : signature.outputs)
        Output(port.value, Cat(signature.name, ": ", port.name));
    }
    return out_ + "}\n";
  }

 private:
  std::string TypeOf(graph::ValueId value) const {
    return graph::TypeText(view_.graph.values[value].type, view_.module.symbols);
  }

  void Ellipse(std::string_view id, graph::ValueId value) {
    out_ += Cat("  ", id, " [shape=ellipse, fillcolor=lightblue, label=",
                Quoted(Cat(graph::ValueText(view_.graph, value), "\n", TypeOf(value))), "];\n");
  }

  // Reads of variables look like the stores that they are, writes like changes.
  void Node(graph::NodeId id) {
    const graph::Node& node = view_.graph.nodes[id];
    const graph::Operator& op = view_.module.OperatorOf(node);
    const ops::OpDef* def = view_.operators.Find(op.domain, op.name, op.version);
    bool reads = false;
    bool writes = false;
    for (const ops::VariableUse& use :
         def == nullptr ? std::vector<ops::VariableUse>() : ops::VariablesOf(*def, node)) {
      reads |= use.reads;
      writes |= use.writes;
    }
    std::string_view look = writes  ? ", fillcolor=mistyrose"
                            : reads ? ", shape=cylinder, fillcolor=lightyellow"
                                    : "";
    std::string name = graph::NodeText(view_.module, view_.graph, id);
    std::string label = name == op.name ? name : Cat(op.name, "\n", name);
    if (!node.device.empty()) label += Cat("\n", node.device);
    out_ += Cat("  n", id, " [label=", Quoted(label), look, "];\n");
    for (graph::ValueId value : node.inputs) {
      if (value != graph::kNone) Edge(value, Cat("n", id));
    }
    for (graph::NodeId control : node.controls)
      out_ += Cat("  n", control, " -> n", id, " [style=dashed];\n");
  }

  void Edge(graph::ValueId value, std::string_view to) {
    if (view_.graph.values[value].constant != graph::kNone) return;
    graph::NodeId producer = view_.graph.values[value].producer;
    std::string from = producer == graph::kNone ? Cat("v", value) : Cat("n", producer);
    out_ += Cat("  ", from, " -> ", to, " [label=", Quoted(TypeOf(value)), "];\n");
  }

  void Output(graph::ValueId value, std::string_view label) {
    if (!view_.values[value]) return;
    std::string id = Cat("o", outputs_++);
    out_ += Cat("  ", id, " [shape=ellipse, fillcolor=palegreen, label=", Quoted(label), "];\n");
    Edge(value, id);
  }

  const GraphView& view_;
  std::string out_;
  int outputs_ = 0;
};

}  // namespace

std::string GraphDot(const GraphView& view) { return DotWriter(view).Write(); }

}  // namespace hr::capi
