#include "runtime/lowering/operations.h"

#include <algorithm>

#include "runtime/lowering/region.h"

namespace hr::lowering {
namespace {

double Elements(const OperandInfo& operand) {
  return operand.present ? static_cast<double>(operand.elements()) : 0;
}

// Of a convolution whose results before pooling have as many elements as `results` covers, each a
// sum over the weights of one output channel.
double Convolution(const graph::Node& node, const OperandInfo& results,
                   const OperandInfo& weights) {
  double windows = 1;
  for (int64_t size : node.Ints("pool")) windows *= static_cast<double>(size);
  const double sum = Elements(weights) / static_cast<double>(std::max<int64_t>(1, weights.dims[0]));
  return 2 * windows * Elements(results) * sum;
}

// Of convolutions that follow each other (lowered.ConvChain): the last one with taps makes images
// of another size.
double Chain(const KernelRequest& request) {
  constexpr size_t kOperands = 7;  // of each, its weights first
  double sum = 0;
  const OperandInfo *image = &request.input(0), *result = &request.outputs[0];
  for (size_t i = 1; i < request.inputs.size(); i += kOperands) {
    const OperandInfo& weights = request.input(i);
    if (weights.elements() != weights.dims[0] * weights.dims[1]) image = result;
    const int64_t channels = std::max<int64_t>(1, image->dims[1]);
    sum += 2 * Elements(*image) / static_cast<double>(channels) * Elements(weights);
  }
  return sum;
}

double Product(const KernelRequest& request) {
  const OperandInfo& a = request.input(0);
  if (a.dims.empty()) return 0;
  const auto axes = request.node.Ints("a_axes");  // of lowered.MatMul
  const bool transposed = request.node.Int("transA", 0) != 0;
  const int64_t inner = !axes.empty() ? a.dims[static_cast<size_t>(axes.back())]
                        : transposed  ? a.dims.front()
                                      : a.dims.back();
  return 2 * Elements(request.outputs[0]) * static_cast<double>(inner);
}

// (x, w, r, …): each element of a weight is used once for each row of x.
double Recurrent(const OperandInfo& x, const OperandInfo& w, const OperandInfo& r) {
  if (x.rank() != 3) return 0;
  return 2 * static_cast<double>(x.dims[0] * x.dims[1]) * (Elements(w) + Elements(r));
}

}  // namespace

double OperationsOf(const KernelRequest& request) {
  const std::string_view op = request.op.name;
  const graph::Node& node = request.node;
  const bool lowered = request.op.domain == kLowered;
  if (op == "Conv" || op == "PlainConv" || op == "ChannelsLastConv") {
    return Convolution(node, request.outputs[0], request.input(1));
  }
  if (op == "ConvChain") return Chain(request);
  if (op == "ConvGradWeight") return Convolution(node, request.input(0), request.outputs[0]);
  if (op == "ConvGradInput") {
    return Convolution(node, request.input(0), request.input(lowered ? 2 : 1));
  }
  if (op == "ConvInteger") return Convolution(node, request.outputs[0], request.input(1));
  if (op == "QLinearConv" || op == "QuantizedConv") {
    return Convolution(node, request.outputs[0], request.input(3));
  }
  if (op.ends_with("Gemm") || op.ends_with("MatMul") || op == "MatMulInteger") {
    return Product(request);
  }
  const bool gradient = op.ends_with("Grad");
  const std::string_view layer = op.substr(0, op.size() - (gradient ? 4 : 0));
  if (layer != "LSTM" && layer != "GRU" && layer != "RNN") return 0;
  const size_t x = gradient ? 1 : 0;  // behind what the forward pass recorded
  const double forward = Recurrent(request.input(x), request.input(x + 1), request.input(x + 2));
  return gradient ? 2 * forward : forward;
}

}  // namespace hr::lowering
