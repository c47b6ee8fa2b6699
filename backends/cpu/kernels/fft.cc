#include "backends/cpu/kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hr::cpu {
namespace {

// A pass takes the square of its factor in operations; beyond this, Bluestein's way is shorter.
constexpr int64_t kLargestFactor = 61;

template <typename T>
Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T>
Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(-pi i numerator / n) for a numerator from 0 to 2 n - 1. From an angle of an eighth of a turn
// at most, so that it is exact to the last place, and quarter turns are exact.
template <typename T>
Complex<T> Root(int64_t numerator, int64_t n) {
  constexpr double kQuarter = 1.57079632679489661923;
  const int64_t quarters = 2 * numerator / n, rest = 2 * numerator % n;
  const bool beyond = 2 * rest > n;  // nearer to the next quarter
  const double angle =
      kQuarter * static_cast<double>(beyond ? n - rest : rest) / static_cast<double>(n);
  double re = std::cos(angle), im = std::sin(angle);
  if (beyond) std::swap(re, im);
  for (int64_t i = 0; i < quarters; ++i) re = -std::exchange(im, re);
  return {static_cast<T>(re), static_cast<T>(-im)};
}

// 4 first: fewer passes. What is left at the end is a large prime, or 1.
std::vector<int64_t> FactorsOf(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t f = 4; f <= kLargestFactor && n > 1; f = f == 4 ? 2 : f == 2 ? 3 : f + 2) {
    for (; n % f == 0; n /= f) factors.push_back(f);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// to = or += from * root
template <typename T>
void AddTurned(const Complex<T>* from, Complex<T> root, bool first, int64_t count, Complex<T>* to) {
  if (first) {
    for (int64_t q = 0; q < count; ++q) to[q] = from[q] * root;
  } else {
    for (int64_t q = 0; q < count; ++q) to[q] = to[q] + from[q] * root;
  }
}

template <typename T>
void Swap(Complex<T>* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::swap(data[i].re, data[i].im);
}

}  // namespace

template <typename T>
Fft<T>::Fft(int64_t n) : n_(n), factors_(FactorsOf(n)) {
  if (!factors_.empty() && *std::max_element(factors_.begin(), factors_.end()) > kLargestFactor) {
    int64_t padded = 1;
    while (padded < 2 * n - 1) padded *= 2;
    padded_ = std::make_unique<Fft>(padded);
    // The square of the index is taken modulo 2 n, where the root repeats.
    const auto add = [&](int64_t k) {
      chirp_.push_back(Root<T>(static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n)), n));
    };
    for (int64_t k = 0; k < n; ++k) add(k);
    kernel_.assign(static_cast<size_t>(padded), {0, 0});
    for (int64_t k = 0; k < n; ++k) {
      const Complex<T> conjugate = {chirp_[k].re, -chirp_[k].im};
      kernel_[k] = conjugate;
      if (k > 0) kernel_[padded - k] = conjugate;
    }
    std::vector<Complex<T>> scratch(static_cast<size_t>(padded_->scratch()));
    padded_->Run(kernel_.data(), scratch.data(), false);
    return;
  }
  for (int64_t k = 0; k < n; ++k) roots_.push_back(Root<T>(2 * k, n));
}

template <typename T>
int64_t Fft<T>::scratch() const {
  return padded_ ? padded_->size() + padded_->scratch() : n_;
}

// One factor of those that are left: `rest` is what remains after it, `done` the product of the
// earlier ones. Output t of each group is the sum over k of input k turned by k t / factor, and
// then by p t / (factor rest).
template <typename T>
void Fft<T>::Pass(int64_t factor, int64_t rest, int64_t done, const Complex<T>* from,
                  Complex<T>* to) const {
  for (int64_t p = 0; p < rest; ++p) {
    for (int64_t t = 0; t < factor; ++t) {
      Complex<T>* const out = to + done * (factor * p + t);
      for (int64_t k = 0; k < factor; ++k) {
        const int64_t turn = (k * t % factor * (n_ / factor) + p * t * done) % n_;
        AddTurned(from + done * (p + rest * k), roots_[static_cast<size_t>(turn)], k == 0, done,
                  out);
      }
    }
  }
}

template <typename T>
void Fft<T>::Transform(Complex<T>* data, Complex<T>* scratch) const {
  Complex<T>*from = data, *to = scratch;
  int64_t rest = n_, done = 1;
  for (int64_t factor : factors_) {
    rest /= factor;
    Pass(factor, rest, done, from, to);
    done *= factor;
    std::swap(from, to);
  }
  if (from != data) std::copy_n(from, n_, data);
}

// j k = (j² + k² - (k - j)²) / 2 makes the transform a convolution with a chirp.
template <typename T>
void Fft<T>::Bluestein(Complex<T>* data, Complex<T>* scratch) const {
  const int64_t m = padded_->size();
  Complex<T>* const work = scratch;
  for (int64_t k = 0; k < n_; ++k) work[k] = data[k] * chirp_[k];
  std::fill(work + n_, work + m, Complex<T>{0, 0});
  padded_->Run(work, scratch + m, false);
  for (int64_t k = 0; k < m; ++k) work[k] = work[k] * kernel_[k];
  padded_->Run(work, scratch + m, true);
  const T scale = T{1} / static_cast<T>(m);
  for (int64_t k = 0; k < n_; ++k) {
    const Complex<T> y = work[k] * chirp_[k];
    data[k] = {y.re * scale, y.im * scale};
  }
}

template <typename T>
void Fft<T>::Run(Complex<T>* data, Complex<T>* scratch, bool inverse) const {
  // With parts swapped before and after, the transform turns the other way.
  if (inverse) Swap(data, n_);
  padded_ ? Bluestein(data, scratch) : Transform(data, scratch);
  if (inverse) Swap(data, n_);
}

template class Fft<float>;
template class Fft<double>;

}  // namespace hr::cpu
