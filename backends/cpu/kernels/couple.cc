#include "backends/cpu/kernels/couple.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

constexpr int kMostRounds = 100;
constexpr float kNearest = 1e-7f;

// One row: minimizes p'Qp for p that add up to 1, where Q[t][t] is the sum of r[j][t]² and Q[t][j]
// is −r[j][t] r[t][j].
struct Coupling {
  int64_t n;
  float* q;   // [n, n]
  float* qp;  // [n]: Qp
  float* p;   // [n]

  void Read(const float* pairs) {
    std::fill_n(q, n * n, 0.0f);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        const float r = std::clamp(*pairs++, kNearest, 1 - kNearest), other = 1 - r;
        q[i * n + i] += other * other;
        q[j * n + j] += r * r;
        q[i * n + j] = q[j * n + i] = -r * other;
      }
    }
    std::fill_n(p, n, 1 / static_cast<float>(n));
  }

  // p'Qp, with Qp anew.
  float Multiply() {
    float sum = 0;
    for (int64_t t = 0; t < n; ++t) {
      qp[t] = 0;
      for (int64_t j = 0; j < n; ++j) qp[t] += q[t * n + j] * p[j];
      sum += p[t] * qp[t];
    }
    return sum;
  }

  bool Holds(float sum) const {
    const float most = 0.005f / static_cast<float>(n);
    return std::all_of(qp, qp + n, [&](float x) { return std::fabs(x - sum) < most; });
  }

  void Round(float sum) {
    for (int64_t t = 0; t < n; ++t) {
      const float* row = q + t * n;
      const float step = (sum - qp[t]) / row[t], scale = 1 / (1 + step);
      p[t] += step;
      sum = (sum + step * (step * row[t] + 2 * qp[t])) * scale * scale;
      for (int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * row[j]) * scale;
        p[j] *= scale;
      }
    }
  }
};

}  // namespace

int CoupleRanges(int64_t rows, int64_t classes, int slices) {
  constexpr int64_t kRounds = 10;  // that it usually takes
  return RangeCount(rows, kRounds * classes * classes, slices);
}

size_t CoupleScratchBytes(int64_t classes, int ranges) {
  return sizeof(float) * static_cast<size_t>(classes * (classes + 1)) * static_cast<size_t>(ranges);
}

void CouplePairs(const Lease& threads, int64_t rows, int64_t classes, const float* pairs, float* y,
                 int ranges, void* scratch) {
  const int64_t count = classes * (classes - 1) / 2;
  ForRanges(threads, rows, ranges, [&](int64_t begin, int64_t end, int range) {
    float* q = static_cast<float*>(scratch) + range * classes * (classes + 1);
    for (int64_t row = begin; row < end; ++row) {
      Coupling coupling{classes, q, q + classes * classes, y + row * classes};
      coupling.Read(pairs + row * count);
      for (int round = 0; round < kMostRounds; ++round) {
        const float sum = coupling.Multiply();
        if (coupling.Holds(sum)) break;
        coupling.Round(sum);
      }
    }
  });
}

}  // namespace hr::cpu
