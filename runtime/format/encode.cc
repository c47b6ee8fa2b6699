#include "runtime/format/encode.h"

#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/function_ref.h"
#include "runtime/format/graph_def_generated.h"
#include "runtime/format/layout.h"
#include "runtime/format/version.h"

namespace hr::format {
namespace {

using flatbuffers::Offset;
using graph::Graph;
using graph::Module;

class Encoder {
 public:
  Encoder(const Module& module, const SegmentTable& table, bool names)
      : module_(module), table_(table), names_(names) {}

  Result<std::string> Run() {
    Offset<fbs::GraphDef> root = EncodeModule();
    if (full_) {
      return ResourceExhausted(
          "the graph's structure needs more than 2 GiB, which is more than a "
          "graph file can hold; keep large data in constants");
    }
    return Finish(root);
  }

 private:
  template <typename T>
  using Table = Offset<flatbuffers::Vector<Offset<T>>>;

  // FlatBuffers only asserts its limit, so ask before anything of some size is added.
  bool Fits(uint64_t bytes) {
    constexpr uint64_t kSlack = 4096;  // tables, vtables and padding around the bytes
    full_ = full_ || builder_.GetSize() + bytes + kSlack > kMaxStructureBytes;
    return !full_;
  }

  // Always a string, since FlatBuffers asserts required ones.
  Offset<flatbuffers::String> Text(std::string_view text) {
    if (!Fits(text.size())) text = {};
    return builder_.CreateString(text.data(), text.size());
  }
  Offset<flatbuffers::String> OptionalText(std::string_view text) {
    return text.empty() ? Offset<flatbuffers::String>(0) : Text(text);
  }

  template <typename T>
  Offset<flatbuffers::Vector<T>> Vector(const std::vector<T>& items) {
    if (items.empty() || !Fits(items.size() * sizeof(T))) return 0;
    return builder_.CreateVector(items.data(), items.size());
  }

  // A vector of what `encode` makes of each item, an Offset<T>.
  template <typename T, typename Items, typename Encode>
  Table<T> Tables(const Items& items, Encode encode) {
    auto item = items.begin();
    return List(items.size(), [&] { return encode(*item++).o; }).o;
  }

  // A vector of the offsets that `next` returns.
  Table<void> List(size_t count, FunctionRef<flatbuffers::uoffset_t()> next) {
    std::vector<Offset<void>> offsets;
    offsets.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (!Fits(0)) return 0;
      offsets.push_back(next());
    }
    return Vector(offsets);
  }

  Offset<fbs::GraphDef> EncodeModule() {
    auto producer = OptionalText(module_.producer);
    auto opsets = Tables<fbs::OperatorSet>(module_.opsets, [this](const auto& opset) {
      auto domain = OptionalText(opset.first);
      return fbs::CreateOperatorSet(builder_, domain, opset.second);
    });
    auto metadata = Tables<fbs::Metadata>(module_.metadata, [this](const auto& entry) {
      auto key = Text(entry.first);
      auto value = OptionalText(entry.second);
      return fbs::CreateMetadata(builder_, key, value);
    });
    auto operators = Tables<fbs::Operator>(module_.operators, [this](const graph::Operator& op) {
      auto domain = OptionalText(op.domain);
      auto name = Text(op.name);
      return fbs::CreateOperator(builder_, domain, name, op.version);
    });
    auto symbols = Tables<fbs::Symbol>(module_.symbols, [this](const graph::Symbol& symbol) {
      auto name = Text(symbol.name);
      auto buckets = Vector(symbol.buckets);
      return fbs::CreateSymbol(builder_, name, symbol.min, symbol.max, buckets);
    });
    auto graphs =
        Tables<fbs::Graph>(module_.graphs, [this](const Graph& g) { return EncodeGraph(g); });
    auto variables = Tables<fbs::Variable>(module_.variables, [this](const graph::Variable& v) {
      auto name = Text(v.name);
      auto dims = Vector(v.dims);
      return fbs::CreateVariable(builder_, name, static_cast<int>(v.dtype), dims, v.trainable,
                                 v.initial_constant, v.initial_graph);
    });
    auto constants = EncodeConstants();
    auto segments = EncodeSegments();
    auto signatures = Tables<fbs::Signature>(
        module_.signatures, [this](const graph::Signature& s) { return EncodeSignature(s); });
    return fbs::CreateGraphDef(builder_, kMinorVersion, producer, opsets, metadata, operators,
                               symbols, graphs, variables, constants, segments, signatures);
  }

  Offset<fbs::Graph> EncodeGraph(const Graph& graph) {
    auto values = Tables<fbs::Value>(graph.values, [this](const graph::Value& value) {
      std::vector<int64_t> sizes;
      for (const graph::Dim& dim : value.type.dims) {
        sizes.push_back(dim.symbol == graph::kNone ? dim.size : -2 - int64_t{dim.symbol});
      }
      auto dims = Vector(sizes);
      return fbs::CreateValue(builder_, static_cast<fbs::ValueKind>(value.type.kind),
                              static_cast<int>(value.type.dtype), value.type.ranked, dims,
                              value.constant);
    });
    auto nodes = Tables<fbs::Node>(graph.nodes,
                                   [this](const graph::Node& node) { return EncodeNode(node); });
    auto inputs = Vector(graph.inputs);
    auto outputs = Vector(graph.outputs);
    auto node_names = EncodeNames(graph.nodes);
    auto value_names = EncodeNames(graph.values);
    return fbs::CreateGraph(builder_, values, nodes, inputs, outputs, node_names, value_names);
  }

  template <typename Items>
  Table<fbs::Name> EncodeNames(const Items& items) {
    if (!names_) return 0;
    std::vector<Offset<fbs::Name>> offsets;
    for (uint32_t i = 0; i < items.size(); ++i) {
      if (items[i].name.empty()) continue;
      if (!Fits(items[i].name.size())) return 0;
      auto text = Text(items[i].name);
      offsets.push_back(fbs::CreateName(builder_, i, text));
    }
    return Vector(offsets);
  }

  Offset<fbs::Node> EncodeNode(const graph::Node& node) {
    auto inputs = Vector(node.inputs);
    auto outputs = Vector(node.outputs);
    auto controls = Vector(node.controls);
    auto attributes =
        Tables<fbs::Attribute>(node.attributes, [this](const graph::Attribute& attribute) {
          return std::visit(
              [&](const auto& value) { return EncodeAttribute(Text(attribute.name), value); },
              attribute.value);
        });
    auto device = OptionalText(node.device);
    return fbs::CreateNode(builder_, node.op, inputs, outputs, controls, attributes, device);
  }

  // One overload a type of attribute.
  using NameText = Offset<flatbuffers::String>;
  using Type = fbs::AttributeType;
  Offset<fbs::Attribute> EncodeAttribute(NameText name, int64_t value) {
    return fbs::CreateAttribute(builder_, name, Type::Int, value);
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, double value) {
    return fbs::CreateAttribute(builder_, name, Type::Float, 0, value);
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, const std::string& value) {
    auto text = Text(value);
    return Filled(name, Type::String, [&](auto& b) { b.add_s(text); });
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, const std::vector<int64_t>& value) {
    auto ints = Vector(value);
    return Filled(name, Type::Ints, [&](auto& b) { b.add_ints(ints); });
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, const std::vector<double>& value) {
    auto floats = Vector(value);
    return Filled(name, Type::Floats, [&](auto& b) { b.add_floats(floats); });
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, const std::vector<std::string>& value) {
    auto strings = Tables<fbs::Text>(value, [this](const std::string& item) {
      auto text = OptionalText(item);
      return fbs::CreateText(builder_, text);
    });
    return Filled(name, Type::Strings, [&](auto& b) { b.add_strings(strings); });
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, graph::TensorIndex value) {
    return Filled(name, Type::Tensor, [&](auto& b) { b.add_index(value.index); });
  }
  Offset<fbs::Attribute> EncodeAttribute(NameText name, graph::GraphIndex value) {
    return Filled(name, Type::Graph, [&](auto& b) { b.add_index(value.index); });
  }
  template <typename Fill>
  Offset<fbs::Attribute> Filled(NameText name, Type type, Fill fill) {
    fbs::AttributeBuilder builder(builder_);
    builder.add_name(name);
    builder.add_type(type);
    fill(builder);
    return builder.Finish();
  }

  Table<fbs::TensorData> EncodeConstants() {
    const TensorPlace* place = table_.places.data();
    return Tables<fbs::TensorData>(module_.constants, [&](const Tensor& tensor) {
      auto dims = Vector(tensor.dims());
      const TensorPlace& at = *place++;
      return fbs::CreateTensorData(builder_, static_cast<int>(tensor.dtype()), dims, at.segment,
                                   at.offset, at.segment == graph::kNone ? 0 : tensor.bytes());
    });
  }

  Table<fbs::Segment> EncodeSegments() {
    return Tables<fbs::Segment>(table_.segments, [this](const SegmentPlan& segment) {
      auto file = OptionalText(table_.side_file);
      flatbuffers::Optional<uint32_t> crc;
      if (segment.crc32c) crc = *segment.crc32c;
      return fbs::CreateSegment(builder_, segment.offset, segment.bytes, segment.mutable_data, file,
                                crc);
    });
  }

  Offset<fbs::Signature> EncodeSignature(const graph::Signature& signature) {
    auto port = [this](const graph::Port& p) {
      auto name = Text(p.name);
      return fbs::CreatePort(builder_, name, p.value);
    };
    auto name = Text(signature.name);
    auto inputs = Tables<fbs::Port>(signature.inputs, port);
    auto outputs = Tables<fbs::Port>(signature.outputs, port);
    auto targets = Vector(signature.targets);
    return fbs::CreateSignature(builder_, name, inputs, outputs, targets);
  }

  // FlatBuffers are built from the end to the start, so the header is pushed last, just before the
  // identifier. Nothing in the schema is aligned to more than 8 bytes, so no padding comes between.
  std::string Finish(Offset<fbs::GraphDef> root) {
    builder_.Align(sizeof(uint64_t));
    uint64_t bytes = builder_.GetSize() + kHeaderEnd;
    bool inside = !table_.segments.empty() && table_.side_file.empty();
    builder_.PushElement(uint64_t{0});  // the checksum, filled in below
    builder_.PushElement(inside ? AlignUp(bytes, kSegmentAlignment) : uint64_t{0});
    builder_.PushElement(bytes);
    builder_.Finish(root, kIdentifier);
    std::string structure(reinterpret_cast<const char*>(builder_.GetBufferPointer()),
                          builder_.GetSize());
    uint64_t checksum = StructureChecksum(AsBytes(structure));
    std::memcpy(structure.data() + kChecksumOffset, &checksum, sizeof checksum);
    return structure;
  }

  const Module& module_;
  const SegmentTable& table_;
  bool names_;
  bool full_ = false;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

Result<std::string> EncodeStructure(const Module& module, const SegmentTable& table, bool names) {
  return Encoder(module, table, names).Run();
}

}  // namespace hr::format
