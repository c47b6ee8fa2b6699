#include "runtime/transform/layers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

// A layer under construction: finds its variables or adds them.
class Layer {
 public:
  Layer(GraphBuilder& builder, std::string_view name, DType dtype)
      : builder_(builder), name_(name), dtype_(dtype) {}

  // "<name>/<what>".
  std::string Name(std::string_view what) const { return Cat(name_, "/", what); }
  // The name of a new node: the layer's own unless another path has that already.
  std::string NodeName(std::string_view suffix = "") const {
    std::string name = Cat(name_, suffix);
    return shared_ ? builder_.UniqueName(name) : name;
  }

  // The variable, uniform within 1 / sqrt(fan_in) at first.
  Result<ValueId> Uniform(std::string_view what, const Dims& dims, int64_t fan_in) {
    return Read(what, dims, [&](const std::string& name) {
      const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
      NodeSpec initializer{.op = "RandomUniform",
                           .attributes = graph::Attributes({{"dtype", static_cast<int64_t>(dtype_)},
                                                            {"shape", dims},
                                                            {"low", -bound},
                                                            {"high", bound}})};
      return builder_.AddVariable(name, dtype_, dims, true, std::move(initializer));
    });
  }

  // The variable, with zeros or ones at first.
  Result<ValueId> Filled(std::string_view what, const Dims& dims, bool ones, bool trainable) {
    return Read(what, dims, [&](const std::string& name) -> Result<uint32_t> {
      HR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(builder_.allocator(), dtype_, dims));
      Fill(tensor, ones);
      return builder_.AddVariable(name, std::move(tensor), trainable);
    });
  }

  uint32_t Variable(std::string_view what) const {
    return builder_.module().FindVariable(Name(what));
  }

 private:
  template <typename Add>
  Result<ValueId> Read(std::string_view what, const Dims& dims, Add add) {
    const std::string name = Name(what);
    uint32_t variable = builder_.module().FindVariable(name);
    if (variable == kNone) {
      HR_ASSIGN_OR_RETURN(variable, add(name));
    } else {
      HR_RETURN_IF_ERROR(CheckShared(builder_.module().variables[variable], dims));
      shared_ = true;
    }
    return builder_.ReadAtStart(variable);
  }

  Status CheckShared(const graph::Variable& variable, const Dims& dims) const {
    if (variable.dtype == dtype_ && variable.dims == dims) return {};
    return AlreadyExists("layer '", name_, "' needs '", variable.name, "' to be ",
                         DTypeName(dtype_), dims, ", and a variable of that name is ",
                         DTypeName(variable.dtype), variable.dims,
                         "; use another name, or the same sizes to share it");
  }

  static void Fill(const Tensor& tensor, bool ones) {
    if (tensor.bytes() != 0) std::memset(tensor.data(), 0, tensor.bytes());
    if (!ones) return;
    switch (tensor.dtype()) {
      case DType::kFloat32: std::ranges::fill(tensor.span<float>(), 1.0f); break;
      case DType::kFloat64: std::ranges::fill(tensor.span<double>(), 1.0); break;
      case DType::kFloat16: std::ranges::fill(tensor.span<uint16_t>(), uint16_t{0x3c00}); break;
      default: std::ranges::fill(tensor.span<uint16_t>(), uint16_t{0x3f80});  // bfloat16
    }
  }

  GraphBuilder& builder_;
  const std::string_view name_;
  const DType dtype_;
  bool shared_ = false;
};

Status CheckLayer(const GraphBuilder& builder, std::string_view name, ValueId x, int64_t size) {
  if (x >= builder.graph().values.size())
    return InvalidArgument("layer '", name, "': there is no value #", x);
  if (size < 1) return InvalidArgument("layer '", name, "' needs at least one output, got ", size);
  return {};
}

Result<ValueId> AddDense(GraphBuilder& builder, std::string_view name, ValueId x, int64_t units) {
  HR_RETURN_IF_ERROR(CheckLayer(builder, name, x, units));
  if (builder.graph().values[x].type.rank() != 2) {
    HR_ASSIGN_OR_RETURN(x, builder.EmitOne(ops::kOnnx, "Flatten", {x}, {},
                                           builder.UniqueName(Cat(name, "/flatten"))));
  }
  const graph::ValueType type = builder.graph().values[x].type;
  if (!type.ranked || !type.dims[1].fixed()) {
    return InvalidArgument("layer '", name, "' needs to know how many features its input has, got ",
                           graph::TypeText(type, builder.module().symbols));
  }
  int64_t features = type.dims[1].size;
  Layer layer(builder, name, type.dtype);
  HR_ASSIGN_OR_RETURN(ValueId weight, layer.Uniform("weight", {units, features}, features));
  HR_ASSIGN_OR_RETURN(ValueId bias, layer.Uniform("bias", {units}, features));
  return builder.EmitOne(ops::kOnnx, "Gemm", {x, weight, bias}, {{"transB", int64_t{1}}},
                         layer.NodeName());
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
  Layer layer(builder, name, type.dtype);
  HR_ASSIGN_OR_RETURN(ValueId weight,
                      layer.Uniform("weight", {channels, in, kernel, kernel}, fan_in));
  HR_ASSIGN_OR_RETURN(ValueId bias, layer.Uniform("bias", {channels}, fan_in));
  HR_ASSIGN_OR_RETURN(NodeId node, builder.AddNode({.op = "Conv",
                                                    .inputs = {x, weight, bias},
                                                    .attributes = std::move(attributes),
                                                    .name = layer.NodeName()}));
  return builder.graph().nodes[node].outputs[0];
}

struct NormSettings {
  double epsilon = 1e-5;
  double momentum = 0.1;
};

Result<NormSettings> NormSettingsFrom(std::string_view name,
                                      const std::vector<graph::Attribute>& attributes) {
  NormSettings out;
  for (const graph::Attribute& attribute : attributes) {
    (attribute.name == "epsilon" ? out.epsilon : out.momentum) = std::get<double>(attribute.value);
  }
  if (!(out.epsilon >= 0) || std::isinf(out.epsilon) || !(out.momentum >= 0 && out.momentum <= 1)) {
    return InvalidArgument(
        "layer '", name, "' takes a finite epsilon of at least 0 and a momentum from 0 to 1, got ",
        out.epsilon, " and ", out.momentum);
  }
  return out;
}

// What normalization by x's own statistics adds to keep the running ones.
class RunningStatistics {
 public:
  RunningStatistics(GraphBuilder& builder, const Layer& layer, DType dtype, double momentum)
      : builder_(builder), layer_(layer), dtype_(dtype), momentum_(momentum) {}

  // The last of the nodes, which waits for the others. `variance` is the population's.
  Result<NodeId> Update(ValueId x, ValueId mean, ValueId variance) {
    HR_ASSIGN_OR_RETURN(variance, Unbiased(x, mean, variance));
    HR_ASSIGN_OR_RETURN(NodeId first, Mix("mean", mean, kNone));
    return Mix("variance", variance, first);
  }

 private:
  Result<ValueId> Op(std::string_view op, std::initializer_list<ValueId> inputs) {
    return builder_.EmitOne(ops::kOnnx, op, inputs, {},
                            builder_.UniqueName(layer_.Name(op == "Size" ? "size" : "update")));
  }

  Result<ValueId> Number(double value) {
    HR_ASSIGN_OR_RETURN(auto&& tensor, MakeTensor<double>(builder_.allocator(), {},
                                                          std::span<const double>(&value, 1)));
    HR_ASSIGN_OR_RETURN(ValueId constant, builder_.Constant(std::move(tensor)));
    return Cast(constant);
  }
  Result<ValueId> Cast(ValueId value) {
    if (builder_.graph().values[value].type.dtype == dtype_) return value;
    return builder_.EmitOne(ops::kOnnx, "Cast", {value}, {{"to", static_cast<int64_t>(dtype_)}});
  }

  // variance * n / max(n - 1, 1), n values a channel.
  Result<ValueId> Unbiased(ValueId x, ValueId mean, ValueId variance) {
    HR_ASSIGN_OR_RETURN(ValueId all, Op("Size", {x}));
    HR_ASSIGN_OR_RETURN(ValueId channels, Op("Size", {mean}));
    HR_ASSIGN_OR_RETURN(ValueId count, Op("Div", {all, channels}));
    HR_ASSIGN_OR_RETURN(count, Cast(count));
    HR_ASSIGN_OR_RETURN(ValueId one, Number(1));
    HR_ASSIGN_OR_RETURN(ValueId rest, Op("Sub", {count, one}));
    HR_ASSIGN_OR_RETURN(rest, Op("Max", {rest, one}));
    HR_ASSIGN_OR_RETURN(ValueId factor, Op("Div", {count, rest}));
    return Op("Mul", {variance, factor});
  }

  // The variable becomes (1 - momentum) * itself + momentum * value.
  Result<NodeId> Mix(std::string_view what, ValueId value, NodeId after) {
    const uint32_t variable = layer_.Variable(what);
    HR_ASSIGN_OR_RETURN(ValueId old, builder_.Read(variable));
    HR_ASSIGN_OR_RETURN(ValueId keep, Number(1 - momentum_));
    HR_ASSIGN_OR_RETURN(ValueId take, Number(momentum_));
    HR_ASSIGN_OR_RETURN(old, Op("Mul", {keep, old}));
    HR_ASSIGN_OR_RETURN(value, Op("Mul", {take, value}));
    HR_ASSIGN_OR_RETURN(value, Op("Add", {old, value}));
    return builder_.Assign("Assign", variable, value, after);
  }

  GraphBuilder& builder_;
  const Layer& layer_;
  const DType dtype_;
  const double momentum_;
};

Result<Normalized> AddBatchNorm(GraphBuilder& builder, std::string_view name, ValueId x,
                                bool training, const std::vector<graph::Attribute>& attributes) {
  HR_RETURN_IF_ERROR(CheckLayer(builder, name, x, 1));
  HR_ASSIGN_OR_RETURN(NormSettings settings, NormSettingsFrom(name, attributes));
  const graph::ValueType type = builder.graph().values[x].type;
  if (!IsFloating(type.dtype) || !type.ranked || type.rank() < 2 || !type.dims[1].fixed()) {
    return InvalidArgument("layer '", name, "' takes floats [N, C, ...] with a known C, got ",
                           graph::TypeText(type, builder.module().symbols));
  }
  const Dims dims = {type.dims[1].size};
  Layer layer(builder, name, type.dtype);
  HR_ASSIGN_OR_RETURN(ValueId scale, layer.Filled("scale", dims, true, true));
  HR_ASSIGN_OR_RETURN(ValueId bias, layer.Filled("bias", dims, false, true));
  HR_ASSIGN_OR_RETURN(ValueId mean, layer.Filled("mean", dims, false, false));
  HR_ASSIGN_OR_RETURN(ValueId variance, layer.Filled("variance", dims, true, false));
  NodeSpec spec{.op = "BatchNormalization",
                .inputs = {x, scale, bias, mean, variance},
                .attributes = graph::Attributes({{"epsilon", settings.epsilon}}),
                .name = layer.NodeName()};
  if (training) {
    // ONNX's momentum is the share that stays: with 0 the outputs are the statistics of x.
    spec.outputs = 3;
    graph::Append(&spec.attributes, {"training_mode", int64_t{1}});
    graph::Append(&spec.attributes, {"momentum", 0.0});
  }
  HR_ASSIGN_OR_RETURN(NodeId node, builder.AddNode(std::move(spec)));
  const std::vector<ValueId> outputs = builder.graph().nodes[node].outputs;
  Normalized out{.value = outputs[0]};
  if (!training) return out;
  RunningStatistics running(builder, layer, type.dtype, settings.momentum);
  HR_ASSIGN_OR_RETURN(out.update, running.Update(x, outputs[1], outputs[2]));
  return out;
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

Result<Normalized> BatchNorm(GraphBuilder& builder, std::string_view name, ValueId x, bool training,
                             const std::vector<graph::Attribute>& attributes) {
  return builder.AllOrNothing([&] { return AddBatchNorm(builder, name, x, training, attributes); });
}

}  // namespace hr::transform
