#include "capi/src/graph_text.h"

#include "runtime/base/errors.h"

namespace hr::capi {
namespace {

using graph::kNone;

// Marks what must run for the values and nodes it is given.
class Marker {
 public:
  explicit Marker(GraphView* view) : view_(*view) {}

  void Value(graph::ValueId value) {
    if (value == kNone) return;
    view_.values[value] = true;
    Node(view_.graph.values[value].producer);
  }

  void Node(graph::NodeId node) {
    if (node == kNone || view_.nodes[node]) return;
    view_.nodes[node] = true;
    open_.push_back(node);
  }

  void Finish() {
    while (!open_.empty()) {
      const graph::Node& node = view_.graph.nodes[open_.back()];
      open_.pop_back();
      for (graph::ValueId input : node.inputs) Value(input);
      for (graph::ValueId output : node.outputs) Value(output);
      for (graph::NodeId control : node.controls) Node(control);
    }
  }

 private:
  GraphView& view_;
  std::vector<graph::NodeId> open_;
};

}  // namespace

Result<GraphView> ViewGraph(const ops::OpRegistry& operators, const graph::Module& module,
                            size_t index, const graph::Signature* signature) {
  if (index >= module.graphs.size()) {
    return OutOfRange("the model has no graph ", index, "; its graphs are 0 to ",
                      module.graphs.size() - 1);
  }
  if (signature != nullptr && index != 0) {
    return InvalidArgument("signatures are entries of graph 0, so graph ", index,
                           " cannot be reduced to one");
  }
  const graph::Graph& graph = module.graphs[index];
  HR_ASSIGN_OR_RETURN(auto order, graph::TopologicalOrder(graph));
  bool all = signature == nullptr;
  GraphView view{module,
                 graph,
                 operators,
                 std::move(order),
                 graph::Marks(graph.nodes.size(), all),
                 graph::Marks(graph.values.size(), all)};
  if (all) return view;
  Marker marker(&view);
  for (const graph::Port& port : signature->inputs) marker.Value(port.value);
  for (const graph::Port& port : signature->outputs) marker.Value(port.value);
  for (graph::NodeId target : signature->targets) marker.Node(target);
  marker.Finish();
  return view;
}

}  // namespace hr::capi
