// An ONNX file as it is read: bytes refer to the mapped file, and so do names but for those of
// tensors, which stand among the bytes of weights: to look at them would map the weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/errors.h"
#include "runtime/base/function_ref.h"
#include "runtime/base/shape.h"

namespace hr::onnx {

// A TensorProto, whose elements are not read before they are wanted.
struct TensorProto {
  std::string name;
  int32_t data_type = 0;
  Dims dims;
  std::optional<std::string_view> raw;
  std::string_view message;  // the whole, for typed fields
  // External data.
  bool external = false;
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

struct GraphProto;

// A dimension: a size, a name, or unknown.
struct DimProto {
  int64_t size = -1;
  std::string_view name;
};

// The type of a value, or of an attribute that says what an empty optional could hold.
struct TypeProto {
  std::string_view kind = "undefined";  // "tensor", "sequence", "optional", …
  bool of_sequence = false;             // a sequence, or an optional of one
  int32_t elem_type = 0;                // of the tensors in it
  bool ranked = false;
  std::vector<DimProto> dims;  // of a tensor
};

struct AttributeProto {
  // The numbers of AttributeProto.AttributeType.
  enum Type : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTypeProto = 13,
  };
  std::string_view name;
  std::string_view ref;  // of a function's node: the attribute of the call
  int32_t type = kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::optional<TensorProto> t;
  std::shared_ptr<const GraphProto> g;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::optional<TypeProto> tp;
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
};

struct ValueInfoProto : TypeProto {
  std::string_view name;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfoProto> inputs, outputs;
  size_t sparse_initializers = 0;
};

struct OpsetProto {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetProto> opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version, domain;
  std::vector<OpsetProto> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<FunctionProto> functions;
  GraphProto graph;
};

// Called with what has been read of the file, node by node and weight by weight.
using Passed = FunctionRef<void(std::string_view)>;

// Reads the structure of a file. INVALID_ARGUMENT, which says where, if it is none or nests deeper
// than any model. The result refers to `file`.
Result<ModelProto> ParseModel(std::string_view file, Passed passed);

// Reads a file that is a single TensorProto.
Result<TensorProto> ParseTensor(std::string_view file);

// The elements of a tensor that stand in typed fields, as contiguous bytes of its type.
Result<std::vector<std::byte>> TypedElements(const TensorProto& tensor, DType dtype, size_t count);

}  // namespace hr::onnx
