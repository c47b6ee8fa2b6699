// Fourier transforms of every kind of length against their definition.
#include "backends/cpu/kernels/fft.h"

#include <cmath>
#include <random>

#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using Number = reference::Number;

template <typename T>
std::vector<Complex<T>> RandomLine(int64_t n) {
  std::mt19937_64 engine(static_cast<uint64_t>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Complex<T>> line(static_cast<size_t>(n));
  for (Complex<T>& x : line) x = {static_cast<T>(uniform(engine)), static_cast<T>(uniform(engine))};
  return line;
}

// exp(± 2 pi i k / n) for all k.
std::vector<Complex<Number>> Roots(int64_t n, bool inverse) {
  const Number turn = (inverse ? 2 : -2) * std::acos(Number{-1}) / static_cast<Number>(n);
  std::vector<Complex<Number>> roots;
  for (int64_t k = 0; k < n; ++k) {
    roots.push_back(
        {std::cos(turn * static_cast<Number>(k)), std::sin(turn * static_cast<Number>(k))});
  }
  return roots;
}

// The largest error of `count` outputs, as a multiple of what one rounding of the line's norm is.
template <typename T>
Number LargestError(int64_t n, bool inverse, int64_t count) {
  const auto x = RandomLine<T>(n);
  const auto roots = Roots(n, inverse);
  Fft<T> fft(n);
  std::vector<Complex<T>> y = x, scratch(static_cast<size_t>(fft.scratch()));
  fft.Run(y.data(), scratch.data(), inverse);
  Number norm = 0, error = 0;
  for (const Complex<T>& value : x)
    norm += Number{value.re} * value.re + Number{value.im} * value.im;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t k = count == n ? i : i * 7919 % n;
    Number re = 0, im = 0;
    for (int64_t j = 0; j < n; ++j) {
      const Complex<Number>& root = roots[static_cast<size_t>(j * k % n)];
      const Complex<T>& value = x[static_cast<size_t>(j)];
      re += value.re * root.re - value.im * root.im;
      im += value.re * root.im + value.im * root.re;
    }
    error = std::max({error, std::fabs(y[static_cast<size_t>(k)].re - re),
                      std::fabs(y[static_cast<size_t>(k)].im - im)});
  }
  return error / (std::sqrt(norm) * std::numeric_limits<T>::epsilon());
}

template <typename T>
void CheckLength(int64_t n, int64_t count) {
  for (const bool inverse : {false, true}) {
    EXPECT_LE(LargestError<T>(n, inverse, count), 3 + std::log2(static_cast<Number>(n)) / 2)
        << "length " << n << (inverse ? ", inverse" : "");
  }
}

TEST(Fft, EveryShortLength) {
  for (int64_t n = 1; n <= 200; ++n) {
    CheckLength<float>(n, n);
    CheckLength<double>(n, n);
  }
}

// Beyond the largest factor of a pass: alone, twice, and with small factors.
TEST(Fft, LargePrimes) {
  for (int64_t n : {211, 1009, 4099, 67 * 67, 2 * 3 * 173, 61 * 61, 10007}) {
    CheckLength<float>(n, 40);
    CheckLength<double>(n, 40);
  }
}

TEST(Fft, PowersOfTwo) {
  for (int64_t n = 256; n <= 1 << 16; n *= 2) {
    CheckLength<float>(n, 20);
    CheckLength<double>(n, 20);
  }
}

// A line is transformed in place with the scratch memory that it says, and no more.
TEST(Fft, StaysWithinItsScratch) {
  for (int64_t n : {0, 1, 12, 128, 134, 1009}) {
    Fft<double> fft(n);
    ASSERT_EQ(fft.size(), n);
    std::vector<Complex<double>> line = RandomLine<double>(n);
    std::vector<Complex<double>> scratch(static_cast<size_t>(fft.scratch()) + 1, {7, 7});
    fft.Run(line.data(), scratch.data(), false);
    EXPECT_EQ(scratch.back().re, 7) << n;
    EXPECT_EQ(scratch.back().im, 7) << n;
  }
}

// Along any axis, with lines shared out among threads.
TEST(FourierTransform, AlongAnyAxis) {
  for (const Dims& dims :
       {Dims{5, 2}, Dims{3, 7, 2}, Dims{2, 67, 3, 2}, Dims{4, 1, 2}, Dims{0, 3, 2}}) {
    for (size_t axis = 0; axis + 1 < dims.size(); ++axis) {
      const auto line = RandomLine<double>(ElementCount(dims) / 2);
      std::vector<double> values;
      for (const Complex<double>& x : line) values.insert(values.end(), {x.re, x.im});
      OneNodeRun run("FourierTransform", "headrace.grad");
      run.In(dims, values).With("axis", static_cast<int64_t>(axis));
      run.With("inverse", static_cast<int64_t>(axis % 2)).Threads(3).Check(0, 1e-13);
    }
  }
}

TEST(FourierTransform, HasNoKernelForIntegers) {
  OneNodeRun run("FourierTransform", "headrace.grad");
  run.In<int32_t>({1, 2}, {1, 2}).With("axis", int64_t{0});
  ExpectFailure(run,
                "FourierTransform takes float32, float64, float16, bfloat16 as input 0, got int32");
}

}  // namespace
}  // namespace hr::cpu
