// Mean and variance of what is added in parts, without cancellation.
#pragma once

#include <cmath>
#include <cstdint>

namespace hr::cpu {

// `squares` are the sum of the squares of the distances from the mean (Chan, Golub and LeVeque,
// "Algorithms for Computing the Sample Variance", 1983).
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void Add(const Moments& other) {
    const double all = count + other.count, share = all == 0 ? 0 : other.count / all;
    const double away = other.mean - mean;
    squares += other.squares + away * away * count * share;
    mean += away * share;
    count = all;
  }
  // Of the population. That of nothing is no number.
  double variance() const { return squares / count; }
};

inline double InverseDeviation(double variance, double epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

}  // namespace hr::cpu
