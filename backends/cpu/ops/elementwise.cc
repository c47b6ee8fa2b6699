// Element-wise operators and chains of them.
#include "backends/cpu/kernels/elementwise.h"

#include <algorithm>

#include "backends/cpu/ops/families.h"
#include "runtime/lowering/expression.h"

namespace hr::cpu {
namespace {

using lowering::Expression;

// Returns the dimensions that memory has in a node whose result has that layout and rank: whole
// blocks if it pads the batch. Channels are the last axis of all operands of a channels-last one,
// if need be because the memory of what is repeated is the same either way.
Dims StoredDims(const OperandInfo& operand, Layout layout, size_t rank) {
  if (layout == Layout::kPlain) return operand.dims;
  if (layout == kChannelsLastLayout) {
    Dims dims(rank - operand.dims.size(), 1);
    dims.insert(dims.end(), operand.dims.begin(), operand.dims.end());
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    return dims;
  }
  int64_t block = 64 / static_cast<int64_t>(DTypeSize(operand.dtype));
  int64_t per_image = ElementCount(std::span(operand.dims).subspan(1));
  return {(operand.dims[0] + block - 1) / block * block * per_image};
}

Result<ElementProgram> Compile(const Expression& expression, std::span<const DType> input_types,
                               std::span<const OperandInfo> outputs) {
  ElementProgramBuilder builder(expression.compute);
  std::vector<int> values;
  for (DType dtype : input_types) values.push_back(builder.Input(dtype));
  for (double constant : expression.constants) values.push_back(builder.Constant(constant));
  for (const Expression::Step& step : expression.steps) {
    std::vector<int> operands;
    for (int operand : step.operands) operands.push_back(values[static_cast<size_t>(operand)]);
    values.push_back(builder.Apply(step.op, operands));
  }
  builder.Output(values.back(), outputs[0].dtype);
  for (size_t i = 0; i < expression.also.size(); ++i) {
    builder.Output(values[static_cast<size_t>(expression.also[i])], outputs[i + 1].dtype);
  }
  return builder.Build();
}

Result<LoweredKernel> MakeProgram(const KernelRequest& request, Expression expression) {
  // Inputs that the expression does not use (of CastLike, …) are not part of the program.
  std::vector<int> kept;
  expression = expression.DropUnusedInputs(&kept);
  std::vector<DType> types;
  std::vector<Dims> dims;
  const OperandInfo& result = request.outputs[0];
  const size_t rank = result.dims.size();
  std::vector<std::span<const int64_t>> spans;
  for (int i : kept) {
    types.push_back(request.input(static_cast<size_t>(i)).dtype);
    dims.push_back(StoredDims(request.input(static_cast<size_t>(i)), result.layout, rank));
  }
  for (const Dims& d : dims) spans.emplace_back(d);
  Dims out_dims = StoredDims(result, result.layout, rank);
  HR_ASSIGN_OR_RETURN(ElementProgram program, Compile(expression, types, request.outputs));
  HR_ASSIGN_OR_RETURN(ElementLayout layout, ElementLayout::Make(out_dims, spans));
  LoweredKernel out;
  const size_t outputs = request.outputs.size();
  for (uint32_t o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < kept.size(); ++i) {
      const bool same =
          dims[i] == out_dims && DTypeSize(types[i]) == DTypeSize(request.outputs[o].dtype);
      if (same) out.in_place.push_back({o, static_cast<uint32_t>(kept[i])});
    }
  }
  int slices = request.threads;
  out.kernel =
      MakeKernel(Cat("elementwise ", expression.Describe()),
                 [program = std::move(program), layout = std::move(layout), kept, outputs, slices](
                     const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const void* in[ElementProgram::kMaxInputs];
                   for (size_t i = 0; i < kept.size(); ++i)
                     in[i] = p.input(static_cast<size_t>(kept[i]));
                   void* out[ElementProgram::kMaxOutputs];
                   for (size_t o = 0; o < outputs; ++o) out[o] = p.output(o);
                   RunElementProgram(context.threads, program, layout, std::span(in, kept.size()),
                                     std::span(out, outputs), slices);
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeOne(const KernelRequest& request) {
  std::vector<DType> types;
  for (const OperandInfo& input : request.inputs) types.push_back(input.dtype);
  auto expression = lowering::ExpressionOf(request.op, request.node, types);
  if (!expression) {
    return Unimplemented(request.op.name, " has no CPU kernel in this form; see docs/operators.md");
  }
  return MakeProgram(request, std::move(*expression));
}

Result<LoweredKernel> MakeChain(const KernelRequest& request) {
  return MakeProgram(
      request, Expression::FromAttributes(request.node, static_cast<int>(request.inputs.size())));
}

constexpr KernelEntry kChain = {lowering::kLowered, "Elementwise", MakeChain, true};
constexpr KernelEntry kOne = {"", "", MakeOne, true};

}  // namespace

const KernelEntry* FindElementwiseKernel(const graph::Operator& op) {
  if (op.domain == kChain.domain) return op.name == kChain.name ? &kChain : nullptr;
  return lowering::IsElementwise(op) ? &kOne : nullptr;
}

}  // namespace hr::cpu
