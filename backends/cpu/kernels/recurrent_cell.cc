#include "backends/cpu/kernels/recurrent_cell.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/element_op.h"
#include "backends/cpu/kernels/recurrent_kernels.h"

namespace hr::cpu {
namespace {

using ops::RecurrentActivation;
using ops::RecurrentCell;

// One activation over `n` elements, and its derivative.
template <typename T>
class Activation {
 public:
  Activation(const RecurrentActivation& activation, double clip, int64_t n)
      : function_(activation.function),
        alpha_(static_cast<T>(activation.alpha)),
        beta_(static_cast<T>(activation.beta)),
        clip_(static_cast<T>(clip)),
        n_(n) {}

  // y = f(x), with x clipped first; not in place.
  void Run(const T* x, T* y) const {
    for (int64_t i = 0; i < n_; ++i) y[i] = Clip(x[i]);
    Apply(y);
  }

  // d *= f'(x), of which y = f(x). A clipped element has no gradient.
  void MultiplyGrad(const T* x, const T* y, T* d) const {
    for (int64_t i = 0; i < n_; ++i) {
      if (std::abs(x[i]) > clip_) d[i] = 0;
    }
    switch (function_) {
      case RecurrentActivation::kAffine: return Each([&](int64_t i) { d[i] *= alpha_; });
      case RecurrentActivation::kElu:
        return Each([&](int64_t i) { d[i] *= x[i] < 0 ? y[i] + alpha_ : T(1); });
      case RecurrentActivation::kHardSigmoid:
        return Each([&](int64_t i) { d[i] *= y[i] > 0 && y[i] < 1 ? alpha_ : T(0); });
      case RecurrentActivation::kLeakyRelu:
        return Each([&](int64_t i) { d[i] *= x[i] < 0 ? alpha_ : T(1); });
      case RecurrentActivation::kRelu: return Each([&](int64_t i) { d[i] *= T(x[i] > 0); });
      case RecurrentActivation::kScaledTanh: {
        // a b (1 - tanh²) of y = a tanh(b x); with a = 0 it is 0 for any tanh
        const T inverse = alpha_ == 0 ? T(0) : T(1) / alpha_;
        return Each([&](int64_t i) {
          const T tanh = y[i] * inverse;
          d[i] *= alpha_ * beta_ * (1 - tanh * tanh);
        });
      }
      case RecurrentActivation::kSigmoid:
        return Each([&](int64_t i) { d[i] *= y[i] * (1 - y[i]); });
      case RecurrentActivation::kSoftplus:
        return Each([&](int64_t i) { d[i] *= -std::expm1(-y[i]); });
      case RecurrentActivation::kSoftsign:
        return Each([&](int64_t i) {
          const T rest = 1 - std::abs(y[i]);
          d[i] *= rest * rest;
        });
      case RecurrentActivation::kTanh: return Each([&](int64_t i) { d[i] *= 1 - y[i] * y[i]; });
      case RecurrentActivation::kThresholdedRelu:
        return Each([&](int64_t i) { d[i] *= T(x[i] > alpha_); });
    }
  }

 private:
  T Clip(T x) const { return x > clip_ ? clip_ : x < -clip_ ? -clip_ : x; }

  template <typename Body>
  void Each(const Body& body) const {
    for (int64_t i = 0; i < n_; ++i) body(i);
  }

  void Vectors(ElementOp op, T* y) const {
    const void* in[] = {y};
    ElementLoopFor(op, sizeof(T) == 4 ? ElementType::kFloat : ElementType::kDouble)(in, y, n_);
  }

  void Apply(T* y) const {
    switch (function_) {
      case RecurrentActivation::kAffine:
        return Each([&](int64_t i) { y[i] = alpha_ * y[i] + beta_; });
      case RecurrentActivation::kElu:
        return Each([&](int64_t i) { y[i] = y[i] < 0 ? alpha_ * std::expm1(y[i]) : y[i]; });
      case RecurrentActivation::kHardSigmoid:
        return Each([&](int64_t i) {
          const T line = alpha_ * y[i] + beta_;
          y[i] = line < 0 ? T(0) : line > 1 ? T(1) : line;
        });
      case RecurrentActivation::kLeakyRelu:
        return Each([&](int64_t i) { y[i] = y[i] < 0 ? alpha_ * y[i] : y[i]; });
      case RecurrentActivation::kRelu: return Vectors(ElementOp::kRelu, y);
      case RecurrentActivation::kScaledTanh:
        Each([&](int64_t i) { y[i] *= beta_; });
        Vectors(ElementOp::kTanh, y);
        return Each([&](int64_t i) { y[i] *= alpha_; });
      case RecurrentActivation::kSigmoid: return Vectors(ElementOp::kSigmoid, y);
      case RecurrentActivation::kSoftplus: return Vectors(ElementOp::kSoftplus, y);
      case RecurrentActivation::kSoftsign: return Vectors(ElementOp::kSoftsign, y);
      case RecurrentActivation::kTanh: return Vectors(ElementOp::kTanh, y);
      case RecurrentActivation::kThresholdedRelu:
        return Each([&](int64_t i) { y[i] = y[i] > alpha_ || y[i] != y[i] ? y[i] : T(0); });
    }
  }

  RecurrentActivation::Function function_;
  T alpha_, beta_, clip_;
  int64_t n_;
};

// The row of one step with its parts by name, and scratch memory for what is computed of them.
template <typename T>
class Row {
 public:
  Row(const RecurrentRowShape& shape, const RecurrentStates<T>& before, T* scratch)
      : shape_(shape), before_(before), n_(shape.hidden), scratch_(scratch) {}

  Activation<T> Function(size_t which) const {
    return {shape_.direction.activations[which], shape_.clip, n_};
  }
  template <typename P>
  P* Part(P* row, int64_t part) const {
    return row + part * n_;
  }
  template <typename P>
  P* State(P* row) const {
    return Part(row, ops::RecordParts(shape_.cell) - 1);
  }
  // Part `part` of the row as activation `which` gives it, in scratch memory at the same place.
  const T* Active(const T* row, int64_t part, size_t which) const {
    T* const out = Part(scratch_, part);
    Function(which).Run(Part(row, part), out);
    return out;
  }
  // An element of the state before.
  T H(int64_t i) const { return before_.h == nullptr ? T(0) : before_.h[i]; }
  T C(int64_t i) const { return before_.c == nullptr ? T(0) : before_.c[i]; }

  void Rnn(T* row) const { Function(0).Run(row, State(row)); }
  void RnnGrad(const T* row, T* d_gates, T* d_h) const;
  void Reset(T* row) const;
  void Gru(T* row) const;
  void GruGrad(const T* row, T* d_gates, T* d_h) const;
  void ResetGrad(const T* row, const T* d_inner, T* d_gates, T* d_h) const;
  bool IsPlainLstm() const;
  void Lstm(T* row) const;
  void LstmGrad(const T* row, T* d_gates, T* d_h, T* d_c) const;

 private:
  const RecurrentRowShape& shape_;
  const RecurrentStates<T>& before_;
  const int64_t n_;
  T* const scratch_;
};

template <typename T>
void Row<T>::RnnGrad(const T* row, T* d_gates, T* d_h) const {
  std::copy_n(d_h, n_, d_gates);
  Function(0).MultiplyGrad(row, State(row), d_gates);
  std::fill_n(d_h, n_, T(0));
}

// ---- GRU: parts z, r, candidate, inner, h ----

template <typename T>
void Row<T>::Reset(T* row) const {
  const T* r = Active(row, 1, 0);
  T* const inner = Part(row, ops::kGruInner);
  for (int64_t i = 0; i < n_; ++i) inner[i] = r[i] * H(i);
}

template <typename T>
void Row<T>::Gru(T* row) const {
  if (shape_.linear_before_reset) {
    const T* r = Active(row, 1, 0);
    const T* inner = Part(row, ops::kGruInner);
    T* const candidate = Part(row, 2);
    for (int64_t i = 0; i < n_; ++i) candidate[i] += r[i] * inner[i];
  }
  const T* z = Active(row, 0, 0);
  const T* candidate = Active(row, 2, 1);
  T* const h = State(row);
  for (int64_t i = 0; i < n_; ++i) h[i] = (1 - z[i]) * candidate[i] + z[i] * H(i);
}

template <typename T>
void Row<T>::GruGrad(const T* row, T* d_gates, T* d_h) const {
  const T* z = Active(row, 0, 0);
  const T* candidate = Active(row, 2, 1);
  T* const d_z = d_gates;
  T* const d_candidate = Part(d_gates, 2);
  for (int64_t i = 0; i < n_; ++i) {
    d_z[i] = d_h[i] * (H(i) - candidate[i]);
    d_candidate[i] = d_h[i] * (1 - z[i]);
    d_h[i] *= z[i];
  }
  Function(0).MultiplyGrad(row, z, d_z);
  Function(1).MultiplyGrad(Part(row, 2), candidate, d_candidate);
  if (!shape_.linear_before_reset) return;
  const T* r = Active(row, 1, 0);
  const T* inner = Part(row, ops::kGruInner);
  T* const d_r = Part(d_gates, 1);
  T* const d_inner = Part(d_gates, ops::kGruInner);
  for (int64_t i = 0; i < n_; ++i) {
    d_r[i] = d_candidate[i] * inner[i];
    d_inner[i] = d_candidate[i] * r[i];
  }
  Function(0).MultiplyGrad(Part(row, 1), r, d_r);
}

template <typename T>
void Row<T>::ResetGrad(const T* row, const T* d_inner, T* d_gates, T* d_h) const {
  const T* r = Active(row, 1, 0);
  T* const d_r = Part(d_gates, 1);
  for (int64_t i = 0; i < n_; ++i) {
    d_r[i] = d_inner[i] * H(i);
    d_h[i] += d_inner[i] * r[i];
  }
  Function(0).MultiplyGrad(Part(row, 1), r, d_r);
}

// ---- LSTM: parts i, o, f, candidate, c, h; peepholes of i, o, f ----

template <typename T>
bool Row<T>::IsPlainLstm() const {
  const auto is = [&](size_t which, RecurrentActivation::Function function) {
    return shape_.direction.activations[which].function == function;
  };
  return before_.peepholes == nullptr && !shape_.input_forget && std::isinf(shape_.clip) &&
         is(0, RecurrentActivation::kSigmoid) && is(1, RecurrentActivation::kTanh) &&
         is(2, RecurrentActivation::kTanh);
}

template <typename T>
void Row<T>::Lstm(T* row) const {
  if (IsPlainLstm()) return KernelsForLstm<T>().forward(n_, before_.c, row);
  const T* const p = before_.peepholes;
  T *const i = row, *const o = Part(row, 1), *const f = Part(row, 2);
  if (p != nullptr) {
    for (int64_t k = 0; k < n_; ++k) {
      i[k] += p[k] * C(k);
      f[k] += p[2 * n_ + k] * C(k);
    }
  }
  const T *in = Active(row, 0, 0), *forget = Active(row, 2, 0), *candidate = Active(row, 3, 1);
  T* const c = Part(row, ops::kLstmState);
  for (int64_t k = 0; k < n_; ++k) {
    const T kept = shape_.input_forget ? 1 - in[k] : forget[k];
    c[k] = kept * C(k) + in[k] * candidate[k];
  }
  for (int64_t k = 0; p != nullptr && k < n_; ++k) o[k] += p[n_ + k] * c[k];
  const T *out = Active(row, 1, 0), *seen = Active(row, ops::kLstmState, 2);
  T* const h = State(row);
  for (int64_t k = 0; k < n_; ++k) h[k] = out[k] * seen[k];
}

template <typename T>
void Row<T>::LstmGrad(const T* row, T* d_gates, T* d_h, T* d_c) const {
  if (IsPlainLstm()) return KernelsForLstm<T>().backward(n_, before_.c, row, d_gates, d_h, d_c);
  const T* const p = before_.peepholes;
  const T* const c = Part(row, ops::kLstmState);
  const T *in = Active(row, 0, 0), *out = Active(row, 1, 0), *forget = Active(row, 2, 0);
  const T *candidate = Active(row, 3, 1), *seen = Active(row, ops::kLstmState, 2);
  T *const d_i = d_gates, *const d_o = Part(d_gates, 1), *const d_f = Part(d_gates, 2);
  T *const d_candidate = Part(d_gates, 3), *const d_seen = Part(scratch_, 6);
  for (int64_t k = 0; k < n_; ++k) {
    d_o[k] = d_h[k] * seen[k];
    d_seen[k] = d_h[k] * out[k];
    d_h[k] = 0;
  }
  Function(0).MultiplyGrad(Part(row, 1), out, d_o);
  Function(2).MultiplyGrad(c, seen, d_seen);
  for (int64_t k = 0; k < n_; ++k) {
    const T d = d_c[k] + d_seen[k] + (p == nullptr ? T(0) : d_o[k] * p[n_ + k]);
    d_i[k] = d * candidate[k];
    d_candidate[k] = d * in[k];
    d_f[k] = d * C(k);
    d_c[k] = d * (shape_.input_forget ? 1 - in[k] : forget[k]);
    if (shape_.input_forget) {
      d_i[k] -= d_f[k];
      d_f[k] = 0;
    }
  }
  Function(0).MultiplyGrad(row, in, d_i);
  Function(0).MultiplyGrad(Part(row, 2), forget, d_f);
  Function(1).MultiplyGrad(Part(row, 3), candidate, d_candidate);
  for (int64_t k = 0; p != nullptr && k < n_; ++k) {
    d_c[k] += d_i[k] * p[k] + d_f[k] * p[2 * n_ + k];
  }
}

}  // namespace

template <typename T>
void FinishRow(const RecurrentRowShape& shape, const RecurrentStates<T>& before, T* row,
               T* scratch) {
  const Row<T> step(shape, before, scratch);
  switch (shape.cell) {
    case RecurrentCell::kRnn: return step.Rnn(row);
    case RecurrentCell::kGru: return step.Gru(row);
    case RecurrentCell::kLstm: return step.Lstm(row);
  }
}

template <typename T>
void ResetRow(const RecurrentRowShape& shape, const RecurrentStates<T>& before, T* row,
              T* scratch) {
  Row<T>(shape, before, scratch).Reset(row);
}

template <typename T>
void FinishRowGrad(const RecurrentRowShape& shape, const RecurrentStates<T>& before, const T* row,
                   T* d_gates, T* d_h, T* d_c, T* scratch) {
  const Row<T> step(shape, before, scratch);
  switch (shape.cell) {
    case RecurrentCell::kRnn: return step.RnnGrad(row, d_gates, d_h);
    case RecurrentCell::kGru: return step.GruGrad(row, d_gates, d_h);
    case RecurrentCell::kLstm: return step.LstmGrad(row, d_gates, d_h, d_c);
  }
}

template <typename T>
void ResetRowGrad(const RecurrentRowShape& shape, const RecurrentStates<T>& before, const T* row,
                  const T* d_inner, T* d_gates, T* d_h, T* scratch) {
  Row<T>(shape, before, scratch).ResetGrad(row, d_inner, d_gates, d_h);
}

#define HR_INSTANTIATE(T)                                                                        \
  template void FinishRow(const RecurrentRowShape&, const RecurrentStates<T>&, T*, T*);          \
  template void ResetRow(const RecurrentRowShape&, const RecurrentStates<T>&, T*, T*);           \
  template void FinishRowGrad(const RecurrentRowShape&, const RecurrentStates<T>&, const T*, T*, \
                              T*, T*, T*);                                                       \
  template void ResetRowGrad(const RecurrentRowShape&, const RecurrentStates<T>&, const T*,      \
                             const T*, T*, T*, T*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
