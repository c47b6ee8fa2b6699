// Numbers of the fields that are read or written, as onnx.proto3 has them; tests/conformance/onnx
// compares them.
#pragma once

#include <cstdint>

namespace hr::onnx {

enum : uint32_t {
  ModelProto_ir_version = 1,
  ModelProto_opset_import = 8,
  ModelProto_producer_name = 2,
  ModelProto_producer_version = 3,
  ModelProto_domain = 4,
  ModelProto_graph = 7,
  ModelProto_metadata_props = 14,
  ModelProto_functions = 25,
};
enum : uint32_t {
  GraphProto_node = 1,
  GraphProto_name = 2,
  GraphProto_initializer = 5,
  GraphProto_sparse_initializer = 15,
  GraphProto_input = 11,
  GraphProto_output = 12,
};
enum : uint32_t {
  NodeProto_input = 1,
  NodeProto_output = 2,
  NodeProto_name = 3,
  NodeProto_op_type = 4,
  NodeProto_domain = 7,
  NodeProto_overload = 8,
  NodeProto_attribute = 5,
};
enum : uint32_t {
  AttributeProto_name = 1,
  AttributeProto_ref_attr_name = 21,
  AttributeProto_type = 20,
  AttributeProto_f = 2,
  AttributeProto_i = 3,
  AttributeProto_s = 4,
  AttributeProto_t = 5,
  AttributeProto_g = 6,
  AttributeProto_tp = 14,
  AttributeProto_floats = 7,
  AttributeProto_ints = 8,
  AttributeProto_strings = 9,
};
enum : uint32_t {
  TensorProto_dims = 1,
  TensorProto_data_type = 2,
  TensorProto_float_data = 4,
  TensorProto_int32_data = 5,
  TensorProto_int64_data = 7,
  TensorProto_name = 8,
  TensorProto_raw_data = 9,
  TensorProto_external_data = 13,
  TensorProto_data_location = 14,
  TensorProto_double_data = 10,
  TensorProto_uint64_data = 11,
};
enum : uint32_t {
  ValueInfoProto_name = 1,
  ValueInfoProto_type = 2,
};
enum : uint32_t {
  FunctionProto_name = 1,
  FunctionProto_input = 4,
  FunctionProto_output = 5,
  FunctionProto_attribute_proto = 11,
  FunctionProto_node = 7,
  FunctionProto_opset_import = 9,
  FunctionProto_domain = 10,
  FunctionProto_overload = 13,
};
enum : uint32_t {
  OperatorSetIdProto_domain = 1,
  OperatorSetIdProto_version = 2,
};
enum : uint32_t {
  StringStringEntryProto_key = 1,
  StringStringEntryProto_value = 2,
};
enum : uint32_t {
  TensorShapeProto_dim = 1,
  Dimension_dim_value = 1,
  Dimension_dim_param = 2,
};
enum : uint32_t {
  TypeProto_tensor_type = 1,
  TypeProto_sequence_type = 4,
  TypeProto_map_type = 5,
  TypeProto_optional_type = 9,
  TypeProto_sparse_tensor_type = 8,
  TypeProto_opaque_type = 7,
  TypeProto_Tensor_elem_type = 1,
  TypeProto_Tensor_shape = 2,
  TypeProto_Sequence_elem_type = 1,
  TypeProto_Optional_elem_type = 1,
};

}  // namespace hr::onnx
