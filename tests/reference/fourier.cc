// Fourier transforms, as their definition reads.
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// y[k] = sum over j of x[j] exp(-2 pi i j k / n), or with the other sign; not divided by n.
void FourierTransform(Call& call) {
  const Array& x = call.In(0);
  const size_t axis = call.Axis(0, x.rank() - 1);
  const int64_t n = x.dims[axis];
  const Number turn = 2 * std::acos(Number{-1}) / static_cast<Number>(n);
  const Number sign = call.Int("inverse", 0) != 0 ? 1 : -1;
  Array y(x.dtype, x.dims);
  Dims outputs = x.dims;
  outputs.back() = 1;
  ForEach(outputs, [&](const Dims& at) {
    Dims real = at, imaginary = at;
    imaginary.back() = 1;
    for (int64_t j = 0; j < n; ++j) {
      Dims from = at;
      from[axis] = j;
      const Number a = x[from];
      from.back() = 1;
      const Number b = x[from];
      const Number angle = sign * turn * static_cast<Number>(j * at[axis] % n);
      y[real] += a * std::cos(angle) - b * std::sin(angle);
      y[imaginary] += a * std::sin(angle) + b * std::cos(angle);
    }
  });
  call.Out(0, std::move(y));
}

const Entry kFourierEntries[] = {{"headrace.grad", "FourierTransform", FourierTransform}};

}  // namespace

std::span<const Entry> FourierFunctions() { return kFourierEntries; }

}  // namespace hr::reference
