#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// One multiplication of a convolution: y[out] += x[in] * w[weight].
using Visit = std::function<void(const Dims& out, const Dims& in, const Dims& weight)>;

// Visits every multiplication of a convolution of x by w.
void ForEachProduct(const Call& call, const Dims& x, const Dims& w, const Visit& visit) {
  int64_t group = call.Int("group", 1);
  std::vector<int64_t> kernel(w.begin() + 2, w.end());
  std::vector<Axis> axes = Windows(call, kernel, Dims(x.begin() + 2, x.end()));
  Dims y = {x[0], w[0]};
  for (const Axis& axis : axes) y.push_back(axis.output);
  Dims reach(w.begin() + 1, w.end());  // channels of a group, kernel
  ForEach(y, [&](const Dims& out) {
    ForEach(reach, [&](const Dims& k) {
      int64_t of_group = out[1] / (w[0] / group);
      Dims in = {out[0], of_group * w[1] + k[0]};
      Dims weight = {out[1], k[0]};
      for (size_t d = 0; d < axes.size(); ++d) {
        in.push_back(axes[d].Position(out[d + 2], k[d + 1]));
        weight.push_back(k[d + 1]);
        if (in.back() < 0) return;
      }
      visit(out, in, weight);
    });
  });
}

void Conv(Call& call) {
  const Array& x = call.In(0);
  const Array& w = call.In(1);
  std::vector<int64_t> kernel(w.dims.begin() + 2, w.dims.end());
  Dims dims = {x.dims[0], w.dims[0]};
  for (const Axis& axis : Windows(call, kernel, Dims(x.dims.begin() + 2, x.dims.end()))) {
    dims.push_back(axis.output);
  }
  Array y(x.dtype, dims);
  ForEachProduct(call, x.dims, w.dims, [&](const Dims& out, const Dims& in, const Dims& weight) {
    y[out] += x[in] * w[weight];
  });
  if (call.Has(2)) {
    ForEach(dims, [&](const Dims& i) { y[i] += call.In(2)[{i[1]}]; });
  }
  call.Out(0, std::move(y));
}

void ConvGradInput(Call& call) {
  const Array& dy = call.In(0);
  const Array& w = call.In(1);
  Array dx(dy.dtype, call.In(2).dims);
  ForEachProduct(call, dx.dims, w.dims, [&](const Dims& out, const Dims& in, const Dims& weight) {
    dx[in] += dy[out] * w[weight];
  });
  call.Out(0, std::move(dx));
}

void ConvGradWeight(Call& call) {
  const Array& dy = call.In(0);
  const Array& x = call.In(1);
  Array dw(dy.dtype, call.In(2).dims);
  ForEachProduct(call, x.dims, dw.dims, [&](const Dims& out, const Dims& in, const Dims& weight) {
    dw[weight] += dy[out] * x[in];
  });
  call.Out(0, std::move(dw));
}

const Entry kConvolutionEntries[] = {{"", "Conv", Conv},
                                     {"headrace.grad", "ConvGradInput", ConvGradInput},
                                     {"headrace.grad", "ConvGradWeight", ConvGradWeight}};

int64_t PerAxis(const std::vector<int64_t>& values, size_t i, int64_t otherwise) {
  return values.empty() ? otherwise : values.at(i);
}

// Settles padding and output size of one axis.
void Settle(Axis& axis, std::string_view mode, bool ceil) {
  int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    axis.output = (axis.input + axis.stride - 1) / axis.stride;
    int64_t pad = std::max<int64_t>(0, (axis.output - 1) * axis.stride + extent - axis.input);
    axis.pad_begin = mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    axis.pad_end = pad - axis.pad_begin;
    return;
  }
  // Count the windows that fit; with ceil, also those that begin before the padding's end does.
  int64_t padded = axis.pad_begin + axis.input + axis.pad_end;
  axis.output = 0;
  for (int64_t begin = 0;; begin += axis.stride) {
    bool fits = begin + extent <= padded;
    bool reaches = ceil && axis.output > 0 && begin - axis.stride + extent < padded &&
                   begin < axis.pad_begin + axis.input;
    if (!fits && !reaches) break;
    ++axis.output;
  }
}

}  // namespace

std::vector<Axis> Windows(const Call& call, std::vector<int64_t> kernel, const Dims& input) {
  std::vector<int64_t> pads = call.Ints("pads");
  std::vector<Axis> axes;
  for (size_t i = 0; i < input.size(); ++i) {
    Axis axis{.kernel = kernel.at(i),
              .stride = PerAxis(call.Ints("strides"), i, 1),
              .dilation = PerAxis(call.Ints("dilations"), i, 1),
              .pad_begin = PerAxis(pads, i, 0),
              .pad_end = PerAxis(pads, i + input.size(), 0),
              .input = input[i],
              .output = 0};
    Settle(axis, call.String("auto_pad", "NOTSET"), call.Int("ceil_mode", 0) != 0);
    axes.push_back(axis);
  }
  return axes;
}

std::span<const Entry> ConvolutionFunctions() { return kConvolutionEntries; }

}  // namespace hr::reference
