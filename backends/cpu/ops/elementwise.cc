// Element-wise operators and chains of them.
#include "backends/cpu/kernels/elementwise.h"

#include "backends/cpu/lowering/expression.h"
#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

// The dimensions that memory has: whole blocks where the layout pads the batch.
Dims StoredDims(const OperandInfo& operand) {
  if (operand.layout == Layout::kPlain) return operand.dims;
  int64_t block = 64 / static_cast<int64_t>(DTypeSize(operand.dtype));
  int64_t per_image = ElementCount(std::span(operand.dims).subspan(1));
  return {(operand.dims[0] + block - 1) / block * block * per_image};
}

Result<LoweredKernel> MakeProgram(const KernelRequest& request, Expression expression) {
  // Inputs that the expression does not use (of CastLike, …) are not part of the program.
  std::vector<int> kept;
  expression = expression.DropUnusedInputs(&kept);
  std::vector<DType> types;
  std::vector<Dims> dims;
  std::vector<std::span<const int64_t>> spans;
  for (int i : kept) {
    types.push_back(request.input(static_cast<size_t>(i)).dtype);
    dims.push_back(StoredDims(request.input(static_cast<size_t>(i))));
  }
  for (const Dims& d : dims) spans.emplace_back(d);
  Dims out_dims = StoredDims(request.outputs[0]);
  HR_ASSIGN_OR_RETURN(ElementProgram program, expression.Compile(types, request.outputs[0].dtype));
  HR_ASSIGN_OR_RETURN(ElementLayout layout, ElementLayout::Make(out_dims, spans));
  LoweredKernel out;
  for (size_t i = 0; i < kept.size(); ++i) {
    bool same = dims[i] == out_dims && DTypeSize(types[i]) == DTypeSize(request.outputs[0].dtype);
    if (same) out.in_place.push_back({0, static_cast<uint32_t>(kept[i])});
  }
  size_t inputs = request.inputs.size();
  int slices = request.threads;
  out.kernel =
      MakeKernel(Cat("elementwise ", expression.Describe()),
                 [program = std::move(program), layout = std::move(layout), kept, inputs, slices](
                     void* const* p, const RunContext& context) -> Status {
                   const void* in[ElementProgram::kMaxInputs];
                   for (size_t i = 0; i < kept.size(); ++i) in[i] = p[kept[i]];
                   void* result = p[inputs];
                   RunElementProgram(context.threads, program, layout, std::span(in, kept.size()),
                                     std::span(&result, 1), slices);
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeOne(const KernelRequest& request) {
  std::vector<DType> types;
  for (const OperandInfo& input : request.inputs) types.push_back(input.dtype);
  auto expression = ExpressionOf(request.op, request.node, types);
  if (!expression) {
    return Unimplemented(request.op.name, " has no CPU kernel in this form; see docs/operators.md");
  }
  return MakeProgram(request, std::move(*expression));
}

Result<LoweredKernel> MakeChain(const KernelRequest& request) {
  return MakeProgram(
      request, Expression::FromAttributes(request.node, static_cast<int>(request.inputs.size())));
}

// clang-format off
#define HR_ONNX(name) {"", name, MakeOne, true}
#define HR_GRAD(name) {"headrace.grad", name, MakeOne, true}
constexpr KernelEntry kKernels[] = {
    {"cpu", "Elementwise", MakeChain, true},
    HR_ONNX("Add"), HR_ONNX("Sub"), HR_ONNX("Mul"), HR_ONNX("Div"), HR_ONNX("Pow"), HR_ONNX("Mod"),
    HR_ONNX("Min"), HR_ONNX("Max"), HR_ONNX("Sum"), HR_ONNX("Mean"), HR_ONNX("Neg"), HR_ONNX("Abs"),
    HR_ONNX("Sign"), HR_ONNX("Sqrt"), HR_ONNX("Exp"), HR_ONNX("Log"), HR_ONNX("Reciprocal"),
    HR_ONNX("Floor"), HR_ONNX("Ceil"), HR_ONNX("Round"), HR_ONNX("Relu"), HR_ONNX("LeakyRelu"),
    HR_ONNX("ThresholdedRelu"), HR_ONNX("Elu"), HR_ONNX("Celu"), HR_ONNX("Selu"), HR_ONNX("PRelu"),
    HR_ONNX("Tanh"), HR_ONNX("Sigmoid"), HR_ONNX("HardSigmoid"), HR_ONNX("HardSwish"), HR_ONNX("Mish"),
    HR_ONNX("Softplus"), HR_ONNX("Softsign"), HR_ONNX("Gelu"), HR_ONNX("Erf"), HR_ONNX("Clip"),
    HR_ONNX("Sin"), HR_ONNX("Cos"), HR_ONNX("Tan"), HR_ONNX("Asin"), HR_ONNX("Acos"), HR_ONNX("Atan"),
    HR_ONNX("Sinh"), HR_ONNX("Cosh"), HR_ONNX("Asinh"), HR_ONNX("Acosh"), HR_ONNX("Atanh"),
    HR_ONNX("Equal"), HR_ONNX("Less"), HR_ONNX("LessOrEqual"), HR_ONNX("Greater"),
    HR_ONNX("GreaterOrEqual"), HR_ONNX("And"), HR_ONNX("Or"), HR_ONNX("Xor"), HR_ONNX("Not"),
    HR_ONNX("IsNaN"), HR_ONNX("IsInf"), HR_ONNX("Where"), HR_ONNX("Cast"), HR_ONNX("CastLike"),
    HR_ONNX("BitwiseAnd"), HR_ONNX("BitwiseOr"), HR_ONNX("BitwiseXor"), HR_ONNX("BitwiseNot"),
    HR_GRAD("ReluGrad"), HR_GRAD("TanhGrad"), HR_GRAD("SigmoidGrad"), HR_GRAD("GeluGrad"),
};
#undef HR_ONNX
#undef HR_GRAD
// clang-format on

}  // namespace

std::span<const KernelEntry> ElementwiseKernels() { return kKernels; }

}  // namespace hr::cpu
