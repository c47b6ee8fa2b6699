#include "backends/cpu/kernels/recurrent.h"

#include "backends/cpu/kernels/recurrent_layout.h"

namespace hr::cpu {
namespace {

// Where everything is in scratch memory. The directions use it one after the other.
template <typename T>
struct Plan {
  RecurrentLayout layout;
  GemmShape project;           // x by W, for all rows
  StepProduct<T> joint, last;  // the state by R; `last`: the candidate of a GRU
  size_t record_at, bias_at, rows_at, gemm_at, bytes;
  size_t group_bytes = 0;  // at gemm_at: of the products of each group's steps

  Plan(const RecurrentShape& shape, int64_t d, bool has_record) : layout(shape, d) {
    const int64_t hidden = layout.hidden(), width = layout.parts() * hidden;
    const int64_t gates = layout.gates() * hidden, joint_gates = layout.joint_gates() * hidden;
    project = GemmShape::Dense(shape.rows(), gates, shape.input, false, true);
    project.ldc = width;
    ScratchParts parts;
    record_at = parts.Take<T>(has_record ? 0 : shape.rows() * width);
    bias_at = parts.Take<T>(gates);
    rows_at = parts.Take<T>(layout.RowsScratch());
    const auto step = [&](int64_t n) {
      return StepProduct<T>(GemmShape::Dense(shape.batch, n, hidden, false, true), shape.steps,
                            &parts);
    };
    joint = step(joint_gates);
    if (layout.is_gru()) last = step(hidden);
    for (const StepProduct<T>* product : {&joint, layout.is_gru() ? &last : &joint}) {
      const size_t own = product->gemm_bytes(
          layout.Groups(), shape.slices, {layout.batch_stride() * width, layout.state_stride()});
      group_bytes = std::max(group_bytes, own);
    }
    gemm_at = parts.TakeBytes(std::max(GemmScratchBytes<T>(project, shape.slices),
                                       group_bytes * static_cast<size_t>(layout.Groups())));
    bytes = parts.bytes();
  }
};

template <typename T>
class Pass {
 public:
  Pass(const Lease& threads, const RecurrentShape& shape, const RecurrentForward<T>& p, int64_t d,
       void* scratch)
      : threads_(threads),
        shape_(shape),
        p_(p),
        plan_(shape, d, p.record != nullptr),
        at_(plan_.layout),
        hidden_(at_.hidden()),
        width_(at_.parts() * hidden_),
        scratch_(static_cast<std::byte*>(scratch)),
        record_(p.record == nullptr ? Memory(plan_.record_at)
                                    : at_.Own(p.record, shape.rows() * width_)),
        bias_(at_.Own(p.bias, 2 * at_.gates() * hidden_)),
        peepholes_(at_.Own(p.peepholes, 3 * hidden_)) {}

  void Run() {
    Project();
    const T* r = at_.Own(p_.r, at_.gates() * hidden_ * hidden_);
    plan_.joint.Prepare(threads_, r, scratch_, shape_.slices);
    if (at_.is_gru()) {
      plan_.last.Prepare(threads_, r + 2 * hidden_ * hidden_, scratch_, shape_.slices);
    }
    at_.ForGroups(threads_, [&](const Sequences& own) {
      for (int64_t i = 0; i < shape_.steps; ++i) {
        AddState(own, i);
        Finish(own, i);
      }
    });
    CopyState(at_.parts() - 1, p_.initial_h, p_.y_h);
    if (p_.y_c != nullptr) CopyState(ops::kLstmState, p_.initial_c, p_.y_c);
  }

 private:
  T* Memory(size_t at) const { return reinterpret_cast<T*>(scratch_ + at); }
  StepRows<T> RowsOf(int64_t i) const { return at_.At(record_, width_, at_.Step(i)); }
  // A state before step number i, or behind the last one.
  StepRows<const T> Before(int64_t i, int64_t part, const T* initial) const {
    if (i == 0) return at_.State(initial);
    const StepRows<T> rows = RowsOf(i - 1).Part(part * hidden_);
    return {rows.data, rows.stride};
  }
  StepRows<const T> HBefore(int64_t i) const { return Before(i, at_.parts() - 1, p_.initial_h); }

  // The gates of all rows: what they owe to x and to the biases.
  void Project() {
    GemmEpilogue<T> end;
    if (bias_ != nullptr) {
      T* const sum = Memory(plan_.bias_at);
      const int64_t gates = at_.gates() * hidden_;
      std::copy_n(bias_, gates, sum);
      const int64_t joint =
          at_.row_shape().linear_before_reset ? at_.joint_gates() * hidden_ : gates;
      for (int64_t i = 0; i < joint; ++i) sum[i] += bias_[gates + i];
      end.column_bias = sum;
    }
    Gemm<T>(threads_, plan_.project, p_.x, at_.Own(p_.w, at_.gates() * hidden_ * shape_.input),
            record_, end, shape_.slices, scratch_ + plan_.gemm_at);
  }

  void* GemmMemory(const Sequences& own) const {
    return scratch_ + plan_.gemm_at + static_cast<size_t>(own.task) * plan_.group_bytes;
  }

  // The gates of step number i: what they owe to the state.
  void AddState(const Sequences& own, int64_t i) {
    const StepRows<const T> h = HBefore(i);
    const StepRows<T> rows = RowsOf(i);
    if (h.data != nullptr) plan_.joint.Run(own, h, rows, {.beta = 1}, GemmMemory(own));
    if (!at_.is_gru()) return;
    const StepRows<T> inner = rows.Part(ops::kGruInner * hidden_);
    if (at_.row_shape().linear_before_reset) return AddInner(own, h, inner);
    at_.ForRows(own, Memory(plan_.rows_at), [&](int64_t n, T* memory) {
      ResetRow<T>(at_.row_shape(), {.h = h[n]}, rows[n], memory);
    });
    if (h.data == nullptr) return;
    plan_.last.Run(own, {inner.data, inner.stride}, rows.Part(2 * hidden_), {.beta = 1},
                   GemmMemory(own));
  }

  // h by the last part of R, with its bias.
  void AddInner(const Sequences& own, StepRows<const T> h, StepRows<T> inner) {
    const T* bias = bias_ == nullptr ? nullptr : bias_ + 5 * hidden_;
    if (h.data != nullptr) {
      return plan_.last.Run(own, h, inner, {.column_bias = bias}, GemmMemory(own));
    }
    for (int64_t n = own.range.begin; n < own.range.end; ++n) CopyRow(bias, inner[n]);
  }

  void Finish(const Sequences& own, int64_t i) {
    const int64_t t = at_.Step(i);
    const StepRows<T> rows = RowsOf(i);
    const StepRows<const T> h = HBefore(i);
    const bool lstm = at_.is(ops::RecurrentCell::kLstm);
    const StepRows<const T> c =
        lstm ? Before(i, ops::kLstmState, p_.initial_c) : StepRows<const T>{};
    const StepRows<T> y = at_.Output(p_.y, t);
    at_.ForRows(own, Memory(plan_.rows_at), [&](int64_t n, T* memory) {
      const T* now = rows[n] + (at_.parts() - 1) * hidden_;
      if (at_.Active(p_.lengths, t, n)) {
        FinishRow<T>(at_.row_shape(), {h[n], c[n], peepholes_}, rows[n], memory);
      } else {
        std::fill_n(rows[n], width_, T(0));
        if (lstm) CopyRow(c[n], rows[n] + ops::kLstmState * hidden_);
        CopyRow(h[n], rows[n] + (at_.parts() - 1) * hidden_);
        now = nullptr;
      }
      if (y.data != nullptr) CopyRow(now, y[n]);
    });
  }

  void CopyState(int64_t part, const T* initial, T* to) const {
    if (to == nullptr) return;
    const StepRows<const T> from = Before(shape_.steps, part, initial);
    for (int64_t n = 0; n < shape_.batch; ++n) CopyRow(from[n], at_.State(to)[n]);
  }
  void CopyRow(const T* from, T* to) const {
    from == nullptr ? std::fill_n(to, hidden_, T(0)) : std::copy_n(from, hidden_, to);
  }

  const Lease& threads_;
  const RecurrentShape& shape_;
  const RecurrentForward<T>& p_;
  Plan<T> plan_;
  const RecurrentLayout& at_;
  const int64_t hidden_, width_;
  std::byte* const scratch_;
  T* const record_;
  const T *const bias_, *const peepholes_;
};

}  // namespace

template <typename T>
size_t RecurrentScratchBytes(const RecurrentShape& shape, bool has_record) {
  return Plan<T>(shape, 0, has_record).bytes;
}

template <typename T>
void Recurrent(const Lease& threads, const RecurrentShape& shape,
               const RecurrentForward<T>& operands, void* scratch) {
  for (int64_t d = 0; d < shape.direction_count(); ++d) {
    Pass<T>(threads, shape, operands, d, scratch).Run();
  }
}

#define HR_INSTANTIATE(T)                                                \
  template size_t RecurrentScratchBytes<T>(const RecurrentShape&, bool); \
  template void Recurrent(const Lease&, const RecurrentShape&, const RecurrentForward<T>&, void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
