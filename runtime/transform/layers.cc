#include "runtime/transform/layers.h"

#include <cmath>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

Result<ValueId> UniformVariable(GraphBuilder& builder, const std::string& name, DType dtype,
                                Dims dims, int64_t fan_in) {
  double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  NodeSpec initializer{.op = "RandomUniform",
                       .attributes = graph::Attributes({{"dtype", static_cast<int64_t>(dtype)},
                                                        {"shape", dims},
                                                        {"low", -bound},
                                                        {"high", bound}})};
  HR_ASSIGN_OR_RETURN(uint32_t variable, builder.AddVariable(name, dtype, std::move(dims), true,
                                                             std::move(initializer)));
  return builder.Read(variable);
}

Status CheckLayer(const GraphBuilder& builder, std::string_view name, ValueId x, int64_t size) {
  if (x >= builder.graph().values.size())
    return InvalidArgument("layer '", name, "': there is no value #", x);
  if (size < 1) return InvalidArgument("layer '", name, "' needs at least one output, got ", size);
  return {};
}

Result<ValueId> AddDense(GraphBuilder& builder, std::string_view name, ValueId x, int64_t units) {
  HR_RETURN_IF_ERROR(CheckLayer(builder, name, x, units));
  if (builder.graph().values[x].type.rank() != 2) {
    HR_ASSIGN_OR_RETURN(x, builder.EmitOne(ops::kOnnx, "Flatten", {x}, {}, Cat(name, "/flatten")));
  }
  const graph::ValueType type = builder.graph().values[x].type;
  if (!type.ranked || !type.dims[1].fixed()) {
    return InvalidArgument("layer '", name, "' needs to know how many features its input has, got ",
                           graph::TypeText(type, builder.module().symbols));
  }
  int64_t features = type.dims[1].size;
  HR_ASSIGN_OR_RETURN(ValueId weight, UniformVariable(builder, Cat(name, "/weight"), type.dtype,
                                                      {units, features}, features));
  HR_ASSIGN_OR_RETURN(ValueId bias,
                      UniformVariable(builder, Cat(name, "/bias"), type.dtype, {units}, features));
  return builder.EmitOne(ops::kOnnx, "Gemm", {x, weight, bias}, {{"transB", int64_t{1}}},
                         std::string(name));
}

Result<ValueId> AddConv2d(GraphBuilder& builder, std::string_view name, ValueId x, int64_t channels,
                          int64_t kernel, std::vector<graph::Attribute> attributes) {
  HR_RETURN_IF_ERROR(CheckLayer(builder, name, x, channels));
  const graph::ValueType type = builder.graph().values[x].type;
  if (type.rank() != 4 || !type.dims[1].fixed()) {
    return InvalidArgument("layer '", name, "' takes [N, C, H, W] with a known C, got ",
                           graph::TypeText(type, builder.module().symbols));
  }
  if (kernel < 1)
    return InvalidArgument("layer '", name, "' needs a kernel of at least 1, got ", kernel);
  int64_t groups = 1;
  for (const graph::Attribute& attribute : attributes) {
    if (attribute.name == "group")
      groups = std::max<int64_t>(1, std::get<int64_t>(attribute.value));
  }
  int64_t in = type.dims[1].size / groups;
  int64_t fan_in = in * kernel * kernel;
  HR_ASSIGN_OR_RETURN(ValueId weight, UniformVariable(builder, Cat(name, "/weight"), type.dtype,
                                                      {channels, in, kernel, kernel}, fan_in));
  HR_ASSIGN_OR_RETURN(ValueId bias,
                      UniformVariable(builder, Cat(name, "/bias"), type.dtype, {channels}, fan_in));
  HR_ASSIGN_OR_RETURN(NodeId node, builder.AddNode({.op = "Conv",
                                                    .inputs = {x, weight, bias},
                                                    .attributes = std::move(attributes),
                                                    .name = std::string(name)}));
  return builder.graph().nodes[node].outputs[0];
}

}  // namespace

Result<ValueId> Dense(GraphBuilder& builder, std::string_view name, ValueId x, int64_t units) {
  return builder.AllOrNothing([&] { return AddDense(builder, name, x, units); });
}

Result<ValueId> Conv2d(GraphBuilder& builder, std::string_view name, ValueId x, int64_t channels,
                       int64_t kernel, std::vector<graph::Attribute> attributes) {
  return builder.AllOrNothing(
      [&] { return AddConv2d(builder, name, x, channels, kernel, std::move(attributes)); });
}

}  // namespace hr::transform
