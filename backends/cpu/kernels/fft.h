// Discrete Fourier transforms of any length: Stockham's order with one pass for each factor (no bit
// reversal), and Bluestein's convolution for lengths with large prime factors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hr::cpu {

template <typename T>
struct Complex {
  T re, im;
};

// y[k] = sum over j of x[j] exp(-2 pi i j k / n), or with + for the inverse, which is not divided
// by n. Thread-safe.
template <typename T>
class Fft {
 public:
  explicit Fft(int64_t n);

  int64_t size() const { return n_; }
  // Elements of scratch memory for Run.
  int64_t scratch() const;
  // Transforms `data` in place.
  void Run(Complex<T>* data, Complex<T>* scratch, bool inverse) const;

 private:
  void Pass(int64_t factor, int64_t rest, int64_t done, const Complex<T>* from,
            Complex<T>* to) const;
  void Transform(Complex<T>* data, Complex<T>* scratch) const;
  void Bluestein(Complex<T>* data, Complex<T>* scratch) const;

  int64_t n_;
  std::vector<int64_t> factors_;
  std::vector<Complex<T>> roots_;  // exp(-2 pi i k / n)
  // Bluestein: a transform of a power of two, the chirp, and the transform of its conjugate.
  std::unique_ptr<Fft> padded_;
  std::vector<Complex<T>> chirp_, kernel_;
};

}  // namespace hr::cpu
