// Protocol buffers, by the field numbers of onnx.proto3 (fields.h).
#include <protozero/pbf_reader.hpp>

#include "converters/onnx/fields.h"
#include "converters/onnx/model.h"
#include "runtime/base/utf8.h"

namespace hr::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Graphs in attributes, types in types.
constexpr int kMaxDepth = 64;

// What a file says that no model says; becomes a Status in ParseModel.
struct Malformed {
  std::string what;
};

std::string_view View(const protozero::data_view& view) { return {view.data(), view.size()}; }

// One message: calls field(number) for each field, which reads or skips it.
class Message {
 public:
  Message(std::string_view bytes, const char* name, int depth)
      : reader_(bytes.data(), bytes.size()), bytes_(bytes), name_(name), depth_(depth) {
    if (depth > kMaxDepth) throw Malformed{Cat("messages nest deeper than ", kMaxDepth)};
  }

  template <typename Field>
  void ForEach(Field&& field) {
    while (reader_.next()) {
      read_ = false;
      field(reader_.tag());
      if (!read_) reader_.skip();
    }
  }

  std::string_view bytes() const { return bytes_; }
  int depth() const { return depth_; }

  std::string_view Text() {
    Take(pbf_wire_type::length_delimited);
    return View(reader_.get_view());
  }
  // Names and words stand in messages and files, so they are text.
  std::string_view Name() {
    const std::string_view name = Text();
    if (!IsUtf8(name)) throw Malformed{Cat("a name or word in ", name_, " is no UTF-8 text")};
    return name;
  }
  int64_t Int() {
    Take(pbf_wire_type::varint);
    return reader_.get_int64();
  }
  int32_t Code() { return static_cast<int32_t>(Int()); }
  float Float() {
    Take(pbf_wire_type::fixed32);
    return reader_.get_float();
  }
  // Repeated numbers, packed or one by one.
  bool Packed() const { return reader_.wire_type() == pbf_wire_type::length_delimited; }
  void AppendInts(std::vector<int64_t>* out) {
    if (!Packed()) return out->push_back(Int());
    Take(pbf_wire_type::length_delimited);
    for (const int64_t value : reader_.get_packed_int64()) out->push_back(value);
  }
  void AppendFloats(std::vector<double>* out) {
    if (!Packed()) return out->push_back(Float());
    Take(pbf_wire_type::length_delimited);
    for (const float value : reader_.get_packed_float()) out->push_back(value);
  }
  void AppendDoubles(std::vector<double>* out) {
    if (Packed()) {
      Take(pbf_wire_type::length_delimited);
      for (const double value : reader_.get_packed_double()) out->push_back(value);
    } else {
      Take(pbf_wire_type::fixed64);
      out->push_back(reader_.get_double());
    }
  }

 private:
  void Take(pbf_wire_type type) {
    if (reader_.wire_type() != type) {
      throw Malformed{Cat("field ", reader_.tag(), " of ", name_, " has wire type ",
                          static_cast<int>(reader_.wire_type()), ", expected ",
                          static_cast<int>(type))};
    }
    read_ = true;
  }

  pbf_reader reader_;
  const std::string_view bytes_;
  const char* const name_;
  const int depth_;
  bool read_ = false;
};

GraphProto ParseGraph(std::string_view bytes, int depth, Passed passed);
TypeProto ParseType(std::string_view bytes, int depth);

uint64_t ParseNumber(std::string_view text) {
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || value > (UINT64_MAX - 9) / 10) {
      throw Malformed{Cat("external data has the number '", text, "'")};
    }
    value = 10 * value + static_cast<uint64_t>(digit - '0');
  }
  return value;
}

std::pair<std::string_view, std::string_view> ParseEntry(std::string_view bytes, int depth) {
  Message message(bytes, "StringStringEntryProto", depth);
  std::pair<std::string_view, std::string_view> entry;
  message.ForEach([&](uint32_t field) {
    if (field == StringStringEntryProto_key) entry.first = message.Name();
    if (field == StringStringEntryProto_value) entry.second = message.Name();
  });
  return entry;
}

TensorProto ParseTensor(std::string_view bytes, int depth) {
  Message message(bytes, "TensorProto", depth);
  TensorProto tensor = {.message = bytes};
  std::vector<int64_t> dims;
  // Packed floats and doubles are the tensor's bytes, as raw ones are, if they come in one piece.
  std::string_view packed;
  int32_t packed_type = 0;
  int pieces = 0;
  const auto note = [&](DType type) {
    ++pieces;
    if (!message.Packed()) return;
    packed = message.Text();
    packed_type = static_cast<int32_t>(type);
  };
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case TensorProto_float_data: note(DType::kFloat32); break;
      case TensorProto_double_data: note(DType::kFloat64); break;
      case TensorProto_dims: return message.AppendInts(&dims);
      case TensorProto_data_type: tensor.data_type = message.Code(); break;
      case TensorProto_name: tensor.name = message.Name(); break;
      case TensorProto_raw_data: tensor.raw = message.Text(); break;
      case TensorProto_data_location: tensor.external = message.Int() == 1; break;
      case TensorProto_external_data: {
        const auto [key, value] = ParseEntry(message.Text(), depth + 1);
        if (key == "location") tensor.location = value;
        if (key == "offset") tensor.offset = ParseNumber(value);
        if (key == "length") tensor.length = ParseNumber(value);
        break;
      }
      default: break;
    }
  });
  tensor.dims.assign(dims.begin(), dims.end());
  if (!tensor.raw && pieces == 1 && tensor.data_type == packed_type) tensor.raw = packed;
  return tensor;
}

AttributeProto ParseAttribute(std::string_view bytes, int depth) {
  Message message(bytes, "AttributeProto", depth);
  AttributeProto out;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case AttributeProto_name: out.name = message.Name(); break;
      case AttributeProto_ref_attr_name: out.ref = message.Name(); break;
      case AttributeProto_type: out.type = message.Code(); break;
      case AttributeProto_f: out.f = message.Float(); break;
      case AttributeProto_i: out.i = message.Int(); break;
      case AttributeProto_s: out.s = message.Name(); break;
      case AttributeProto_t: out.t = ParseTensor(message.Text(), depth + 1); break;
      case AttributeProto_g:
        out.g = std::make_shared<const GraphProto>(
            ParseGraph(message.Text(), depth + 1, [](std::string_view) {}));
        break;
      case AttributeProto_floats: message.AppendFloats(&out.floats); break;
      case AttributeProto_ints: message.AppendInts(&out.ints); break;
      case AttributeProto_strings: out.strings.push_back(message.Name()); break;
      case AttributeProto_tp: out.tp = ParseType(message.Text(), depth + 1); break;
      default: break;
    }
  });
  return out;
}

NodeProto ParseNode(std::string_view bytes, int depth) {
  Message message(bytes, "NodeProto", depth);
  NodeProto node;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case NodeProto_input: node.inputs.push_back(message.Name()); break;
      case NodeProto_output: node.outputs.push_back(message.Name()); break;
      case NodeProto_name: node.name = message.Name(); break;
      case NodeProto_op_type: node.op_type = message.Name(); break;
      case NodeProto_domain: node.domain = message.Name(); break;
      case NodeProto_overload: node.overload = message.Name(); break;
      case NodeProto_attribute:
        node.attributes.push_back(ParseAttribute(message.Text(), depth + 1));
        break;
      default: break;
    }
  });
  // The name of ONNX's domain has two spellings.
  if (node.domain == "ai.onnx") node.domain = {};
  return node;
}

DimProto ParseDim(std::string_view bytes, int depth) {
  Message message(bytes, "Dimension", depth);
  DimProto dim;
  message.ForEach([&](uint32_t field) {
    if (field == Dimension_dim_value) dim.size = message.Int();
    if (field == Dimension_dim_param) dim.name = message.Name();
  });
  return dim;
}

void ParseShape(std::string_view bytes, int depth, TypeProto* type) {
  Message message(bytes, "TensorShapeProto", depth);
  type->ranked = true;
  message.ForEach([&](uint32_t field) {
    if (field == TensorShapeProto_dim) type->dims.push_back(ParseDim(message.Text(), depth + 1));
  });
}

TypeProto ParseTensorType(std::string_view bytes, int depth) {
  Message message(bytes, "TypeProto.Tensor", depth);
  TypeProto type{.kind = "tensor"};
  message.ForEach([&](uint32_t field) {
    if (field == TypeProto_Tensor_elem_type) type.elem_type = message.Code();
    if (field == TypeProto_Tensor_shape) ParseShape(message.Text(), depth + 1, &type);
  });
  return type;
}

// A sequence or an optional, whose message has one field: the type of what it holds.
TypeProto ParseContainerType(std::string_view bytes, std::string_view kind, int depth) {
  static_assert(TypeProto_Sequence_elem_type == TypeProto_Optional_elem_type);
  Message message(bytes, "TypeProto", depth);
  TypeProto element;
  message.ForEach([&](uint32_t field) {
    if (field == TypeProto_Sequence_elem_type) element = ParseType(message.Text(), depth + 1);
  });
  const bool of_sequence = kind == "sequence" ? element.kind == "tensor" : element.of_sequence;
  return {.kind = kind, .of_sequence = of_sequence, .elem_type = element.elem_type};
}

TypeProto ParseType(std::string_view bytes, int depth) {
  Message message(bytes, "TypeProto", depth);
  TypeProto type;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case TypeProto_tensor_type: type = ParseTensorType(message.Text(), depth + 1); break;
      case TypeProto_sequence_type:
        type = ParseContainerType(message.Text(), "sequence", depth + 1);
        break;
      case TypeProto_optional_type:
        type = ParseContainerType(message.Text(), "optional", depth + 1);
        break;
      case TypeProto_map_type: type.kind = "map"; break;
      case TypeProto_sparse_tensor_type: type.kind = "sparse tensor"; break;
      case TypeProto_opaque_type: type.kind = "opaque"; break;
      default: break;
    }
  });
  return type;
}

ValueInfoProto ParseValueInfo(std::string_view bytes, int depth) {
  Message message(bytes, "ValueInfoProto", depth);
  ValueInfoProto info;
  message.ForEach([&](uint32_t field) {
    if (field == ValueInfoProto_name) info.name = message.Name();
    if (field == ValueInfoProto_type) {
      static_cast<TypeProto&>(info) = ParseType(message.Text(), depth + 1);
    }
  });
  return info;
}

GraphProto ParseGraph(std::string_view bytes, int depth, Passed passed) {
  Message message(bytes, "GraphProto", depth);
  GraphProto graph;
  const auto text = [&] {
    const std::string_view field = message.Text();
    passed({bytes.data(), static_cast<size_t>(field.data() - bytes.data())});
    return field;
  };
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case GraphProto_node: graph.nodes.push_back(ParseNode(text(), depth + 1)); break;
      case GraphProto_name: graph.name = message.Name(); break;
      case GraphProto_initializer:
        graph.initializers.push_back(ParseTensor(text(), depth + 1));
        break;
      case GraphProto_sparse_initializer: ++graph.sparse_initializers; break;
      case GraphProto_input:
        graph.inputs.push_back(ParseValueInfo(message.Text(), depth + 1));
        break;
      case GraphProto_output:
        graph.outputs.push_back(ParseValueInfo(message.Text(), depth + 1));
        break;
      default: break;
    }
  });
  return graph;
}

OpsetProto ParseOpset(std::string_view bytes, int depth) {
  Message message(bytes, "OperatorSetIdProto", depth);
  OpsetProto opset;
  message.ForEach([&](uint32_t field) {
    if (field == OperatorSetIdProto_domain) opset.domain = message.Name();
    if (field == OperatorSetIdProto_version) opset.version = message.Int();
  });
  if (opset.domain == "ai.onnx") opset.domain = {};
  return opset;
}

FunctionProto ParseFunction(std::string_view bytes, int depth) {
  Message message(bytes, "FunctionProto", depth);
  FunctionProto out;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case FunctionProto_name: out.name = message.Name(); break;
      case FunctionProto_domain: out.domain = message.Name(); break;
      case FunctionProto_overload: out.overload = message.Name(); break;
      case FunctionProto_input: out.inputs.push_back(message.Name()); break;
      case FunctionProto_output: out.outputs.push_back(message.Name()); break;
      case FunctionProto_attribute_proto:
        out.defaults.push_back(ParseAttribute(message.Text(), depth + 1));
        break;
      case FunctionProto_node: out.nodes.push_back(ParseNode(message.Text(), depth + 1)); break;
      case FunctionProto_opset_import:
        out.opsets.push_back(ParseOpset(message.Text(), depth + 1));
        break;
      default: break;
    }
  });
  if (out.domain == "ai.onnx") out.domain = {};
  return out;
}

ModelProto ParseWhole(std::string_view bytes, Passed passed) {
  Message message(bytes, "ModelProto", 0);
  ModelProto model;
  bool has_graph = false;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case ModelProto_ir_version: model.ir_version = message.Int(); break;
      case ModelProto_producer_name: model.producer_name = message.Name(); break;
      case ModelProto_producer_version: model.producer_version = message.Name(); break;
      case ModelProto_domain: model.domain = message.Name(); break;
      case ModelProto_opset_import: model.opsets.push_back(ParseOpset(message.Text(), 1)); break;
      case ModelProto_metadata_props:
        model.metadata.push_back(ParseEntry(message.Text(), 1));
        break;
      case ModelProto_functions: model.functions.push_back(ParseFunction(message.Text(), 1)); break;
      case ModelProto_graph:
        model.graph = ParseGraph(message.Text(), 1, passed);
        has_graph = true;
        break;
      default: break;
    }
  });
  if (!has_graph) throw Malformed{"it has no graph"};
  return model;
}

// Elements of the typed fields, which are wider than the type for all but the widest.
struct Typed {
  std::vector<double> reals;
  std::vector<int64_t> integers;
};

Typed ParseTyped(std::string_view bytes) {
  Message message(bytes, "TensorProto", 0);
  Typed typed;
  message.ForEach([&](uint32_t field) {
    switch (field) {
      case TensorProto_float_data: return message.AppendFloats(&typed.reals);
      case TensorProto_double_data: return message.AppendDoubles(&typed.reals);
      case TensorProto_int32_data:
      case TensorProto_int64_data:
      case TensorProto_uint64_data: return message.AppendInts(&typed.integers);
      default: break;
    }
  });
  return typed;
}

template <typename T, typename From>
std::vector<std::byte> Narrowed(const std::vector<From>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values[i]);
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
  return out;
}

std::vector<std::byte> BytesOf(const Typed& typed, DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return Narrowed<float>(typed.reals);
    case DType::kFloat64: return Narrowed<double>(typed.reals);
    default: break;
  }
  switch (DTypeSize(dtype)) {
    case 1: return Narrowed<uint8_t>(typed.integers);
    case 2: return Narrowed<uint16_t>(typed.integers);
    case 4: return Narrowed<uint32_t>(typed.integers);
    default: return Narrowed<uint64_t>(typed.integers);
  }
}

// The result of body(), or the failure that a malformed message makes of it.
template <typename Body>
auto Guarded(Literal what, Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const Malformed& malformed) {
    return InvalidArgument("this is no ", what, ": ", malformed.what);
  } catch (const protozero::exception& error) {
    return InvalidArgument("this is no ", what, ", or it is cut: ", error.what());
  }
}

}  // namespace

Result<ModelProto> ParseModel(std::string_view file, Passed passed) {
  return Guarded("ONNX model", [&] { return ParseWhole(file, passed); });
}

Result<TensorProto> ParseTensor(std::string_view file) {
  return Guarded("ONNX tensor", [&] { return ParseTensor(file, 0); });
}

Result<std::vector<std::byte>> TypedElements(const TensorProto& tensor, DType dtype, size_t count) {
  HR_ASSIGN_OR_RETURN(auto&& bytes, Guarded("ONNX model", [&] {
                        return BytesOf(ParseTyped(tensor.message), dtype);
                      }));
  if (bytes.size() == count * DTypeSize(dtype)) return std::move(bytes);
  return InvalidArgument("tensor '", tensor.name, "' of ", DTypeName(dtype), " has ", count,
                         " elements by its shape and ", bytes.size() / DTypeSize(dtype),
                         " by its data");
}

}  // namespace hr::onnx
