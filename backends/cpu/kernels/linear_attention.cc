#include "backends/cpu/kernels/linear_attention.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {
namespace {

// The backward pass keeps the state before every `Segment`-th step, and computes those between them
// again, one segment at a time: memory for about 2 √steps states instead of one for each step.
int64_t Segment(const LinearAttentionShape& shape) {
  int64_t segment = 1;
  while (segment * segment < shape.steps) ++segment;
  return segment;
}

// One head of one sequence.
template <typename T>
class Head {
 public:
  Head(const LinearAttentionShape& shape, const LinearAttentionInputs<T>& in, int64_t index)
      : s_(shape), in_(in), n_(index / shape.heads), head_(index % shape.heads), index_(index) {}

  int64_t Row(int64_t t) const { return n_ * s_.steps + t; }
  int64_t K(int64_t t) const { return (Row(t) * s_.heads + head_) * s_.keys; }
  int64_t V(int64_t t) const { return (Row(t) * s_.heads + head_) * s_.values; }
  int64_t QueryHead(int64_t t, int64_t g) const {
    return Row(t) * s_.heads * s_.group + head_ * s_.group + g;
  }
  int64_t Decay(int64_t t) const { return (Row(t) * s_.heads + head_) * s_.decay_each; }
  int64_t OwnBeta(int64_t t) const { return Row(t) * s_.heads + head_; }
  int64_t Beta(int64_t t) const { return s_.one_beta ? Row(t) : OwnBeta(t); }
  int64_t State() const { return index_ * s_.state(); }

  void Start(T* state) const {
    if (in_.past == nullptr) {
      std::fill_n(state, s_.state(), T(0));
    } else {
      std::copy_n(in_.past + State(), s_.state(), state);
    }
  }
  T Factor(int64_t t, int64_t key) const {
    return std::exp(in_.decay[Decay(t) + (s_.decay_each == 1 ? 0 : key)]);
  }
  // S' of S.
  void Fade(int64_t t, T* state) const {
    if (s_.decay_each == 0) return;
    T factor = Factor(t, 0);
    for (int64_t d = 0; d < s_.keys; ++d) {
      if (s_.decay_each > 1) factor = Factor(t, d);
      for (int64_t m = 0; m < s_.values; ++m) state[d * s_.values + m] *= factor;
    }
  }
  // u, and v - S'ᵀ k in its place if that is asked for.
  void Update(int64_t t, const T* state, T* u, bool whole = true) const {
    std::copy_n(in_.v + V(t), s_.values, u);
    if (!s_.beta) return;
    const T* const k = in_.k + K(t);
    for (int64_t d = 0; d < s_.keys; ++d) {
      for (int64_t m = 0; m < s_.values; ++m) u[m] -= k[d] * state[d * s_.values + m];
    }
    const T beta = whole ? in_.beta[Beta(t)] : T(1);
    for (int64_t m = 0; m < s_.values; ++m) u[m] *= beta;
  }
  // S of S'.
  void Write(int64_t t, const T* u, T* state) const {
    const T* const k = in_.k + K(t);
    for (int64_t d = 0; d < s_.keys; ++d) {
      for (int64_t m = 0; m < s_.values; ++m) state[d * s_.values + m] += k[d] * u[m];
    }
  }
  void Step(int64_t t, T* state, T* u) const {
    Fade(t, state);
    Update(t, state, u);
    Write(t, u, state);
  }

  void Forward(T* y, T* state, T* u) const {
    Start(state);
    for (int64_t t = 0; t < s_.steps; ++t) {
      Step(t, state, u);
      for (int64_t g = 0; g < s_.group; ++g) Read(t, g, state, y);
    }
  }

  // `memory` has GradScratch elements. `d_beta` is [batch, steps, heads].
  void Backward(const LinearAttentionGrads<T>& grads, T* d_beta, T* memory) const;

  static int64_t GradScratch(const LinearAttentionShape& s) {
    const int64_t segment = Segment(s);
    return (CeilDiv(s.steps, segment) + segment + 2) * s.state() + 3 * s.values;
  }

 private:
  void Read(int64_t t, int64_t g, const T* state, T* y) const {
    const int64_t head = QueryHead(t, g);
    const T* const q = in_.q + head * s_.keys;
    T* const out = y + head * s_.values;
    std::fill_n(out, s_.values, T(0));
    for (int64_t d = 0; d < s_.keys; ++d) {
      const T by = q[d] * static_cast<T>(s_.scale);
      for (int64_t m = 0; m < s_.values; ++m) out[m] += by * state[d * s_.values + m];
    }
  }
  void StepBack(int64_t t, const T* faded, const LinearAttentionGrads<T>& grads, T* d_beta,
                T* d_state, T* rows) const;
  void ReadBack(int64_t t, const T* faded, const T* u, const LinearAttentionGrads<T>& grads,
                T* d_state) const;
  void FadeBack(int64_t t, const T* faded, T* d_decay, T* d_state) const;

  const LinearAttentionShape& s_;
  const LinearAttentionInputs<T>& in_;
  const int64_t n_, head_, index_;
};

template <typename T>
void Head<T>::Backward(const LinearAttentionGrads<T>& grads, T* d_beta, T* memory) const {
  const int64_t segment = Segment(s_), segments = CeilDiv(s_.steps, segment);
  T* const starts = memory;
  T* const faded = starts + segments * s_.state();  // S' of the segment's steps
  T* const state = faded + segment * s_.state();
  T* const d_state = state + s_.state();
  T* const rows = d_state + s_.state();
  Start(state);
  for (int64_t t = 0; t < s_.steps; ++t) {
    if (t % segment == 0) std::copy_n(state, s_.state(), starts + t / segment * s_.state());
    Step(t, state, rows);
  }
  if (grads.d_present == nullptr) {
    std::fill_n(d_state, s_.state(), T(0));
  } else {
    std::copy_n(grads.d_present + State(), s_.state(), d_state);
  }
  for (int64_t part = segments - 1; part >= 0; --part) {
    const int64_t begin = part * segment, end = std::min(s_.steps, begin + segment);
    std::copy_n(starts + part * s_.state(), s_.state(), state);
    for (int64_t t = begin; t < end; ++t) {
      Fade(t, state);
      std::copy_n(state, s_.state(), faded + (t - begin) * s_.state());
      Update(t, state, rows);
      Write(t, rows, state);
    }
    for (int64_t t = end - 1; t >= begin; --t) {
      StepBack(t, faded + (t - begin) * s_.state(), grads, d_beta, d_state, rows);
    }
  }
  std::copy_n(d_state, s_.state(), grads.d_past + State());
}

// d_state: of the state behind the step, then of that before it.
template <typename T>
void Head<T>::StepBack(int64_t t, const T* faded, const LinearAttentionGrads<T>& grads, T* d_beta,
                       T* d_state, T* rows) const {
  T *const u = rows, *const rest = rows + s_.values, *const d_u = rest + s_.values;
  Update(t, faded, rest, false);
  const T beta = s_.beta ? in_.beta[Beta(t)] : T(1);
  for (int64_t m = 0; m < s_.values; ++m) u[m] = beta * rest[m];
  ReadBack(t, faded, u, grads, d_state);
  const T* const k = in_.k + K(t);
  T* const d_k = grads.dk + K(t);
  std::fill_n(d_u, s_.values, T(0));
  for (int64_t d = 0; d < s_.keys; ++d) {
    T sum = 0;
    for (int64_t m = 0; m < s_.values; ++m) {
      sum += d_state[d * s_.values + m] * u[m];
      d_u[m] += d_state[d * s_.values + m] * k[d];
    }
    d_k[d] = sum;
  }
  T d_own = 0;
  for (int64_t m = 0; m < s_.values; ++m) {
    d_own += d_u[m] * rest[m];
    d_u[m] *= beta;
    grads.dv[V(t) + m] = d_u[m];
  }
  if (s_.beta) {
    d_beta[OwnBeta(t)] = d_own;
    for (int64_t d = 0; d < s_.keys; ++d) {
      T sum = 0;
      for (int64_t m = 0; m < s_.values; ++m) {
        sum += faded[d * s_.values + m] * d_u[m];
        d_state[d * s_.values + m] -= k[d] * d_u[m];
      }
      d_k[d] -= sum;
    }
  }
  if (s_.decay_each > 0) FadeBack(t, faded, grads.d_decay + Decay(t), d_state);
}

// What y gives the queries and the state S = S' + k uᵀ.
template <typename T>
void Head<T>::ReadBack(int64_t t, const T* faded, const T* u, const LinearAttentionGrads<T>& grads,
                       T* d_state) const {
  const T* const k = in_.k + K(t);
  const T scale = static_cast<T>(s_.scale);
  for (int64_t g = 0; g < s_.group; ++g) {
    const int64_t head = QueryHead(t, g);
    T* const dq = grads.dq + head * s_.keys;
    std::fill_n(dq, s_.keys, T(0));
    if (grads.dy == nullptr) continue;
    const T *const dy = grads.dy + head * s_.values, *const q = in_.q + head * s_.keys;
    for (int64_t d = 0; d < s_.keys; ++d) {
      T sum = 0;
      for (int64_t m = 0; m < s_.values; ++m) {
        sum += dy[m] * (faded[d * s_.values + m] + k[d] * u[m]);
        d_state[d * s_.values + m] += scale * q[d] * dy[m];
      }
      dq[d] = scale * sum;
    }
  }
}

// The decay's gradient is that of its exponential times S' = exp(decay) S.
template <typename T>
void Head<T>::FadeBack(int64_t t, const T* faded, T* d_decay, T* d_state) const {
  std::fill_n(d_decay, s_.decay_each, T(0));
  for (int64_t d = 0; d < s_.keys; ++d) {
    T sum = 0;
    const T factor = Factor(t, d);
    for (int64_t m = 0; m < s_.values; ++m) {
      sum += d_state[d * s_.values + m] * faded[d * s_.values + m];
      d_state[d * s_.values + m] *= factor;
    }
    d_decay[s_.decay_each == 1 ? 0 : d] += sum;
  }
}

int Tasks(const LinearAttentionShape& shape) {
  return static_cast<int>(
      std::clamp<int64_t>(shape.batch * shape.heads, 1, std::max(1, shape.slices)));
}

// Calls body(head, memory) for each head of each sequence; the memory, of `each` elements, is that
// of a task.
template <typename T, typename Body>
void ForHeads(const Lease& threads, const LinearAttentionShape& shape,
              const LinearAttentionInputs<T>& in, T* memory, int64_t each, const Body& body) {
  const int tasks = Tasks(shape);
  threads.ParallelFor(tasks, [&](int task) {
    const Range range = PartOf(shape.batch * shape.heads, tasks, task);
    for (int64_t i = range.begin; i < range.end; ++i) {
      body(Head<T>(shape, in, i), memory + task * each);
    }
  });
}

}  // namespace

template <typename T>
size_t LinearAttentionScratchBytes(const LinearAttentionShape& shape) {
  return static_cast<size_t>(Tasks(shape) * (shape.values + shape.state())) * sizeof(T);
}

template <typename T>
void LinearAttention(const Lease& threads, const LinearAttentionShape& shape,
                     const LinearAttentionInputs<T>& in, T* y, T* present, void* scratch) {
  ForHeads<T>(threads, shape, in, static_cast<T*>(scratch), shape.values + shape.state(),
              [&](const Head<T>& head, T* memory) {
                T* const state =
                    present == nullptr ? memory + shape.values : present + head.State();
                head.Forward(y, state, memory);
              });
}

template <typename T>
size_t LinearAttentionGradScratchBytes(const LinearAttentionShape& shape) {
  const int64_t betas = shape.batch * shape.steps * shape.heads;
  return static_cast<size_t>(betas + Tasks(shape) * Head<T>::GradScratch(shape)) * sizeof(T);
}

template <typename T>
void LinearAttentionGrad(const Lease& threads, const LinearAttentionShape& shape,
                         const LinearAttentionInputs<T>& in, const LinearAttentionGrads<T>& grads,
                         void* scratch) {
  const int64_t rows = shape.batch * shape.steps;
  // One that is for all heads gets the sum of what each of them gives.
  T* const d_beta = shape.one_beta ? static_cast<T*>(scratch) : grads.d_beta;
  ForHeads<T>(threads, shape, in, static_cast<T*>(scratch) + rows * shape.heads,
              Head<T>::GradScratch(shape),
              [&](const Head<T>& head, T* memory) { head.Backward(grads, d_beta, memory); });
  for (int64_t row = 0; shape.one_beta && row < rows; ++row) {
    T sum = 0;
    for (int64_t head = 0; head < shape.heads; ++head) sum += d_beta[row * shape.heads + head];
    grads.d_beta[row] = sum;
  }
}

#define HR_INSTANTIATE(T)                                                          \
  template size_t LinearAttentionScratchBytes<T>(const LinearAttentionShape&);     \
  template void LinearAttention(const Lease&, const LinearAttentionShape&,         \
                                const LinearAttentionInputs<T>&, T*, T*, void*);   \
  template size_t LinearAttentionGradScratchBytes<T>(const LinearAttentionShape&); \
  template void LinearAttentionGrad(const Lease&, const LinearAttentionShape&,     \
                                    const LinearAttentionInputs<T>&,               \
                                    const LinearAttentionGrads<T>&, void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
