#include "backends/cpu/lowering/chain_convs.h"

#include <algorithm>

#include "backends/cpu/lowering/conv_layouts.h"
#include "backends/cpu/ops/conv_cost.h"
#include "backends/cpu/ops/image_end.h"
#include "backends/cpu/ops/window_shape.h"
#include "runtime/lowering/choice.h"
#include "runtime/lowering/schedule.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Region;

using Members = std::vector<NodeId>;

class Chainer {
 public:
  Chainer(Region& region, const ops::OpRegistry& operators, int threads)
      : region_(region), threads_(threads) {
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      const auto written = lowering::WrittenVariables(operators, region_.module, region_.node(id));
      writes_variables_ |= std::any_of(written.begin(), written.end(),
                                       [](uint32_t variable) { return variable != kNone; });
    }
  }

  void Run() {
    for (NodeId id = 0, count = static_cast<NodeId>(region_.node_count()); id < count; ++id) {
      if (region_.IsDead(id) || !IsConv(id) || region_.node(id).Int("group", 1) == 1) continue;
      const NodeId before = Before(id), behind = Behind(id);
      for (const Members& chain :
           {Members{before, id, behind}, Members{id, behind}, Members{before, id}}) {
        const bool whole = std::find(chain.begin(), chain.end(), kNone) == chain.end();
        if (whole && HandsOnImagesAlone(chain) && region_.MayJoin(chain) && Pays(chain)) {
          Join(chain);
          break;
        }
      }
    }
    region_.Sweep();
  }

 private:
  // Of float32, with weights that no run changes, and not pinned to a kernel.
  bool IsConv(NodeId id) const {
    if (id == kNone || region_.IsDead(id)) return false;
    if (!region_.Is(id, "", "Conv") && !region_.Is(id, lowering::kLowered, "ChannelsLastConv")) {
      return false;
    }
    const graph::Node& node = region_.node(id);
    return node.Int(kChannelsLast, 0) != 0 && node.Find(kPinnedKernel) == nullptr &&
           region_.DTypeOf(node.inputs[0]) == DType::kFloat32 &&
           region_.DimsOf(node.inputs[0]).size() == 4 && IsConstant(node.inputs[1]);
  }
  bool IsConstant(ValueId weights) const {
    const NodeId producer = region_.Producer(weights);
    if (producer == kNone) return region_.value(weights).constant != kNone;
    return !writes_variables_ && region_.module.OperatorOf(region_.node(producer)).name == "Read";
  }
  // The convolution whose image this one alone takes.
  NodeId Before(NodeId id) const {
    const ValueId image = region_.node(id).inputs[0];
    const NodeId before = region_.Producer(image);
    return IsConv(before) && region_.OnlyConsumer(image) == id ? before : kNone;
  }
  NodeId Behind(NodeId id) const {
    const NodeId behind = region_.OnlyConsumer(region_.node(id).outputs[0]);
    return IsConv(behind) && Before(behind) == id ? behind : kNone;
  }

  // Whether what a member makes is the next one's image and nothing else: it may also be what that
  // one adds to its result, and a band has no whole image to take that from.
  bool HandsOnImagesAlone(const Members& chain) const {
    for (size_t i = 1; i < chain.size(); ++i) {
      const auto& inputs = region_.node(chain[i]).inputs;
      const ValueId image = region_.node(chain[i - 1]).outputs[0];
      if (std::count(inputs.begin(), inputs.end(), image) != 1) return false;
    }
    return true;
  }

  bool Pays(const Members& chain) {
    std::vector<graph::Node> nodes;
    for (const NodeId id : chain) nodes.push_back(region_.node(id));
    return region_.Decide([nodes, threads = threads_](const Region& region) {
      std::vector<ConvShape> shapes;
      for (const graph::Node& node : nodes) {
        const auto shape =
            ConvShapeOf(node, region.DimsOf(node.inputs[0]), region.DimsOf(node.inputs[1]));
        if (!shape.ok()) return false;
        shapes.push_back(*shape);
      }
      return ConvChainPays(shapes, threads);
    });
  }

  void Join(const Members& chain) {
    std::vector<ValueId> inputs = {region_.node(chain[0]).inputs[0]};
    std::vector<graph::Attribute> attributes = {{std::string(kChannelsLast), int64_t{1}}};
    std::string name;
    for (size_t i = 0; i < chain.size(); ++i) {
      const graph::Node& node = region_.node(chain[i]);
      inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
      inputs.resize(1 + (i + 1) * kConvOperands, kNone);
      for (const graph::Attribute& attribute : node.attributes) {
        if (attribute.name == lowering::kChoice && i == 0) attributes.push_back(attribute);
        attributes.push_back({Cat(i, ".", attribute.name), attribute.value});
      }
      name += Cat(i == 0 ? "" : " ", node.name);
    }
    const NodeId joined =
        region_.AddNode("ConvChain", std::move(inputs), region_.node(chain.back()).outputs,
                        std::move(attributes), name);
    for (const NodeId id : chain) region_.Replace(id, joined);
  }

  Region& region_;
  const int threads_;
  bool writes_variables_ = false;
};

}  // namespace

void ChainConvolutions(Region& region, const ops::OpRegistry& operators, int threads) {
  Chainer(region, operators, threads).Run();
}

graph::Node ChainMemberNode(const graph::Node& chain, size_t index) {
  const std::string prefix = Cat(index, ".");
  graph::Node out;
  for (const graph::Attribute& attribute : chain.attributes) {
    if (attribute.name.starts_with(prefix)) {
      out.attributes.push_back({attribute.name.substr(prefix.size()), attribute.value});
    }
  }
  return out;
}

}  // namespace hr::cpu
