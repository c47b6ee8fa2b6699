// Backward through time. A record has the states before each step but the first; those that a step
// of the batch needs lie one step further along the rows.
#include "backends/cpu/kernels/recurrent_layout.h"
#include "backends/cpu/kernels/reduce_kernels.h"

namespace hr::cpu {
namespace {

// Rows [first, first + count) of d_gates meet rows [first + shift, …) of the record: the states
// before them.
struct StateRows {
  int64_t first, shift, count;
};

// One group of rows of R: `columns` columns of d_gates from `from` on, and the rows of R from `to`
// on.
struct GateRows {
  int64_t from, to, columns;
};

template <typename T>
struct Plan {
  RecurrentLayout layout;
  int64_t d_width;  // of a row of d_gates
  GemmShape dx, dw;
  StepProduct<T> joint, last;
  size_t d_gates_at, d_h_at, d_c_at, rows_at, gemm_at, bytes;
  size_t group_bytes = 0;  // at gemm_at: of the products of each group's steps

  Plan(const RecurrentShape& shape, int64_t d) : layout(shape, d) {
    const int64_t hidden = layout.hidden(), gates = layout.gates() * hidden;
    d_width = layout.is_gru() ? gates + hidden : gates;
    dx = GemmShape::Dense(shape.rows(), shape.input, gates);
    dx.lda = d_width;
    dw = WeightShape(gates, shape.input, shape.rows(), shape.input);
    ScratchParts parts;
    d_gates_at = parts.Take<T>(shape.rows() * d_width);
    d_h_at = parts.Take<T>(shape.batch * hidden);
    d_c_at = parts.Take<T>(shape.batch * hidden);
    rows_at = parts.Take<T>(layout.RowsScratch());
    const auto step = [&](int64_t k) {
      return StepProduct<T>(GemmShape::Dense(shape.batch, hidden, k), shape.steps, &parts);
    };
    joint = step(layout.joint_gates() * hidden);
    if (layout.is_gru()) last = step(hidden);
    const int64_t distance = layout.batch_stride() * d_width;
    for (const StepProduct<T>* product : {&joint, layout.is_gru() ? &last : &joint}) {
      group_bytes =
          std::max(group_bytes, product->gemm_bytes(layout.Groups(), shape.slices, {distance}));
    }
    gemm_at = parts.TakeBytes(
        std::max(GemmBytes(shape), group_bytes * static_cast<size_t>(layout.Groups())));
    bytes = parts.bytes();
  }

  // m columns of d_gates, transposed, by `n` columns of another matrix.
  GemmShape WeightShape(int64_t m, int64_t n, int64_t rows, int64_t ldb) const {
    GemmShape out = GemmShape::Dense(m, n, rows, true);
    out.lda = d_width;
    out.ldb = ldb;
    return out;
  }
  // The rows of d_gates and of the record that lie side by side, and how often.
  int64_t Blocks(const RecurrentShape& shape) const { return shape.batch_first ? shape.batch : 1; }
  StateRows RowsWithState(const RecurrentShape& shape) const {
    const int64_t block = shape.rows() / std::max<int64_t>(1, Blocks(shape));
    const int64_t step = layout.step_stride();
    const bool reverse = layout.row_shape().direction.reverse;
    return {reverse ? 0 : step, reverse ? step : -step, std::max<int64_t>(0, block - step)};
  }
  // The matrices that the columns of d_gates give dR by: the states before, and for the candidate
  // of a GRU perhaps the inner part.
  GateRows Joint() const { return {0, 0, layout.joint_gates() * layout.hidden()}; }
  GateRows Last() const {
    const int64_t hidden = layout.hidden();
    return {(layout.row_shape().linear_before_reset ? 3 : 2) * hidden, 2 * hidden, hidden};
  }

 private:
  size_t GemmBytes(const RecurrentShape& shape) const {
    const int64_t hidden = layout.hidden(), width = layout.parts() * hidden;
    const int64_t distance = layout.batch_stride() * d_width;
    size_t most =
        std::max(GemmScratchBytes<T>(dx, shape.slices), GemmScratchBytes<T>(dw, shape.slices));
    const auto add = [&](const GateRows& gates, int64_t rows, int64_t lda, int64_t ldb) {
      GemmShape weights = WeightShape(gates.columns, hidden, rows, ldb);
      weights.lda = lda;
      most = std::max(most, GemmScratchBytes<T>(weights, shape.slices));
    };
    for (const GateRows& gates : {Joint(), Last()}) {
      add(gates, RowsWithState(shape).count, d_width, width);
      add(gates, shape.batch, distance, layout.state_stride());
      add(gates, shape.rows(), d_width, width);
    }
    return most;
  }
};

template <typename T>
class Pass {
 public:
  Pass(const Lease& threads, const RecurrentShape& shape, const RecurrentBackward<T>& p, int64_t d,
       void* scratch)
      : threads_(threads),
        shape_(shape),
        p_(p),
        plan_(shape, d),
        at_(plan_.layout),
        first_(d == 0),
        hidden_(at_.hidden()),
        gates_(at_.gates() * hidden_),
        width_(at_.parts() * hidden_),
        scratch_(static_cast<std::byte*>(scratch)),
        record_(at_.Own(p.record, shape.rows() * width_)),
        peepholes_(at_.Own(p.peepholes, 3 * hidden_)),
        d_gates_(Memory(plan_.d_gates_at)),
        d_h_{Memory(plan_.d_h_at), hidden_},
        d_c_{Memory(plan_.d_c_at), hidden_} {}

  void Run() {
    const T* r = at_.Own(p_.r, gates_ * hidden_);
    plan_.joint.Prepare(threads_, r, scratch_, shape_.slices);
    if (at_.is_gru()) {
      plan_.last.Prepare(threads_, r + 2 * hidden_ * hidden_, scratch_, shape_.slices);
    }
    CopyState(at_.State(p_.dy_h), d_h_);
    if (lstm()) CopyState(at_.State(p_.dy_c), d_c_);
    at_.ForGroups(threads_, [&](const Sequences& own) {
      for (int64_t i = shape_.steps - 1; i >= 0; --i) {
        GoBack(own, i);
        AddToState(own, i);
      }
    });
    const auto constant = [](StepRows<T> rows) {
      return StepRows<const T>{rows.data, rows.stride};
    };
    if (p_.d_initial_h != nullptr) CopyState(constant(d_h_), at_.State(p_.d_initial_h));
    if (lstm() && p_.d_initial_c != nullptr) {
      CopyState(constant(d_c_), at_.State(p_.d_initial_c));
    }
    Inputs();
    RecurrentWeights();
    Sums();
  }

 private:
  bool lstm() const { return at_.is(ops::RecurrentCell::kLstm); }
  T* Memory(size_t at) const { return reinterpret_cast<T*>(scratch_ + at); }
  void* gemm_memory() const { return scratch_ + plan_.gemm_at; }
  void* GemmMemory(const Sequences& own) const {
    return scratch_ + plan_.gemm_at + static_cast<size_t>(own.task) * plan_.group_bytes;
  }
  StepRows<const T> RowsOf(int64_t i) const { return at_.At(record_, width_, at_.Step(i)); }
  StepRows<T> GradsOf(int64_t i) const { return at_.At(d_gates_, plan_.d_width, at_.Step(i)); }
  StepRows<const T> Before(int64_t i, int64_t part, const T* initial) const {
    return i == 0 ? at_.State(initial) : RowsOf(i - 1).Part(part * hidden_);
  }
  RecurrentStates<T> StatesBefore(int64_t i, int64_t n) const {
    const T* h = Before(i, at_.parts() - 1, p_.initial_h)[n];
    const T* c = lstm() ? Before(i, ops::kLstmState, p_.initial_c)[n] : nullptr;
    return {h, c, peepholes_};
  }
  void CopyState(StepRows<const T> from, StepRows<T> to) const {
    for (int64_t n = 0; n < shape_.batch; ++n) {
      from.data == nullptr ? std::fill_n(to[n], hidden_, T(0))
                           : std::copy_n(from[n], hidden_, to[n]);
    }
  }

  // From the states behind step number i to its gates, and what reaches the states before without
  // R.
  void GoBack(const Sequences& own, int64_t i) {
    const int64_t t = at_.Step(i);
    const StepRows<const T> rows = RowsOf(i), dy = at_.Output(p_.dy, t);
    const StepRows<T> grads = GradsOf(i);
    at_.ForRows(own, Memory(plan_.rows_at), [&](int64_t n, T* memory) {
      if (!at_.Active(p_.lengths, t, n)) return void(std::fill_n(grads[n], plan_.d_width, T(0)));
      T* const d_h = d_h_[n];
      for (int64_t k = 0; dy.data != nullptr && k < hidden_; ++k) d_h[k] += dy[n][k];
      FinishRowGrad<T>(at_.row_shape(), StatesBefore(i, n), rows[n], grads[n], d_h, d_c_[n],
                       memory);
    });
  }

  // What reaches the states before step number i through R.
  void AddToState(const Sequences& own, int64_t i) {
    const StepRows<T> grads = GradsOf(i);
    if (at_.is_gru() && !at_.row_shape().linear_before_reset) AddThroughReset(own, i);
    const auto add = [&](const StepProduct<T>& product, int64_t from) {
      const StepRows<T> rows = grads.Part(from);
      product.Run(own, {rows.data, rows.stride}, d_h_, {.beta = 1}, GemmMemory(own));
    };
    add(plan_.joint, 0);
    if (at_.row_shape().linear_before_reset) add(plan_.last, ops::kGruInner * hidden_);
  }

  void AddThroughReset(const Sequences& own, int64_t i) {
    const StepRows<const T> rows = RowsOf(i);
    const StepRows<T> grads = GradsOf(i), candidate = grads.Part(2 * hidden_);
    const StepRows<T> inner = grads.Part(ops::kGruInner * hidden_);
    plan_.last.Run(own, {candidate.data, candidate.stride}, inner, {}, GemmMemory(own));
    const int64_t t = at_.Step(i);
    at_.ForRows(own, Memory(plan_.rows_at), [&](int64_t n, T* memory) {
      if (!at_.Active(p_.lengths, t, n)) return;
      ResetRowGrad<T>(at_.row_shape(), StatesBefore(i, n), rows[n], inner[n], grads[n], d_h_[n],
                      memory);
    });
  }

  // c = op(a) b, or what b and c hold if there is no row to sum over.
  void Product(const GemmShape& shape, const T* a, const T* b, T* c, T beta) {
    if (shape.k == 0) {
      if (beta == 0) std::fill_n(c, shape.m * shape.n, T(0));
      return;
    }
    Gemm<T>(threads_, shape, a, b, c, {.beta = beta}, shape_.slices, gemm_memory());
  }

  void Inputs() {
    const int64_t each = gates_ * shape_.input;
    if (p_.dx != nullptr) {
      Product(plan_.dx, d_gates_, at_.Own(p_.w, each), p_.dx, first_ ? T(0) : T(1));
    }
    if (p_.dw != nullptr) Product(plan_.dw, d_gates_, p_.x, at_.Own(p_.dw, each), 0);
  }

  void RecurrentWeights() {
    if (p_.dr == nullptr) return;
    T* const dr = at_.Own(p_.dr, gates_ * hidden_);
    std::fill_n(dr, gates_ * hidden_, T(0));
    AddStates(plan_.Joint(), dr);
    if (!at_.is_gru()) return;
    const GateRows last = plan_.Last();
    if (at_.row_shape().linear_before_reset) return AddStates(last, dr);
    Product(plan_.WeightShape(last.columns, hidden_, shape_.rows(), width_), d_gates_ + last.from,
            record_ + ops::kGruInner * hidden_, dr + last.to * hidden_, 1);
  }

  // The products of columns of d_gates with the states before.
  void AddStates(const GateRows& gates, T* dr) {
    T* const to = dr + gates.to * hidden_;
    const StateRows with = plan_.RowsWithState(shape_);
    const GemmShape shape = plan_.WeightShape(gates.columns, hidden_, with.count, width_);
    const T* const h = record_ + (at_.parts() - 1) * hidden_;
    const int64_t blocks = plan_.Blocks(shape_);
    for (int64_t block = 0; block < blocks && with.count > 0; ++block) {
      const int64_t row = block * shape_.steps + with.first;
      Product(shape, d_gates_ + row * plan_.d_width + gates.from, h + (row + with.shift) * width_,
              to, 1);
    }
    if (p_.initial_h == nullptr || shape_.steps == 0) return;
    const StepRows<const T> initial = at_.State(p_.initial_h);
    const StepRows<T> grads = GradsOf(0);
    GemmShape at_first = plan_.WeightShape(gates.columns, hidden_, shape_.batch, initial.stride);
    at_first.lda = grads.stride;
    Product(at_first, grads.data + gates.from, initial.data, to, 1);
  }

  // Calls add(i, n, sums) for the rows of all steps, where sums[0] is for element `begin` of the
  // hidden ones, and writes the sums to to[k], k in [0, hidden): in double, and each summed by one
  // task.
  template <typename Add>
  void SumRows(const Add& add, T* to) const {
    constexpr int64_t kAtOnce = 128;
    const auto tasks = static_cast<int>(CeilDiv(hidden_, kAtOnce));
    threads_.ParallelFor(tasks, [&](int task) {
      const int64_t begin = task * kAtOnce, count = std::min(kAtOnce, hidden_ - begin);
      double sums[kAtOnce] = {};
      for (int64_t i = 0; i < shape_.steps; ++i) {
        for (int64_t n = 0; n < shape_.batch; ++n) add(i, n, begin, count, sums);
      }
      for (int64_t k = 0; k < count; ++k) to[begin + k] = static_cast<T>(sums[k]);
    });
  }
  // The sum of d_gates' part `part` times a state of the cell at this step.
  enum class Factor { kStateBefore, kState };
  void SumPart(int64_t part, Factor factor, T* to) const {
    SumRows(
        [&](int64_t i, int64_t n, int64_t begin, int64_t count, double* sums) {
          const T* const d = GradsOf(i)[n] + part * hidden_ + begin;
          const T* const c = factor == Factor::kState ? RowsOf(i)[n] + ops::kLstmState * hidden_
                                                      : StatesBefore(i, n).c;
          if (c == nullptr) return;
          for (int64_t k = 0; k < count; ++k) {
            sums[k] += static_cast<double>(d[k]) * static_cast<double>(c[begin + k]);
          }
        },
        to);
  }

  // The sums of `count` columns of d_gates over all rows.
  void SumColumns(int64_t from, int64_t count, T* to) const {
    const ReduceShape shape{.length = shape_.rows(), .stride = plan_.d_width, .columns = count};
    const int64_t units = ReduceUnits<T>(shape);
    const int tasks = static_cast<int>(std::min<int64_t>(units, shape_.slices));
    const auto sum = KernelsForReduce<T>().columns[static_cast<int>(Fold::kSum)];
    threads_.ParallelFor(tasks, [&](int task) {
      const Range part = PartOf(units, tasks, task);
      sum(shape, d_gates_ + from, nullptr, to, part.begin, part.end);
    });
  }

  // The gradients of the biases and of the peepholes.
  void Sums() const {
    if (p_.dbias != nullptr) {
      T* const to = at_.Own(p_.dbias, 2 * gates_);
      SumColumns(0, gates_, to);
      std::copy_n(to, gates_, to + gates_);
      if (at_.row_shape().linear_before_reset) {
        SumColumns(ops::kGruInner * hidden_, hidden_, to + 5 * hidden_);
      }
    }
    if (!lstm() || p_.d_peepholes == nullptr) return;
    T* const to = at_.Own(p_.d_peepholes, 3 * hidden_);
    SumPart(0, Factor::kStateBefore, to);
    SumPart(1, Factor::kState, to + hidden_);
    SumPart(2, Factor::kStateBefore, to + 2 * hidden_);
  }

  const Lease& threads_;
  const RecurrentShape& shape_;
  const RecurrentBackward<T>& p_;
  Plan<T> plan_;
  const RecurrentLayout& at_;
  const bool first_;
  const int64_t hidden_, gates_, width_;
  std::byte* const scratch_;
  const T *const record_, *const peepholes_;
  T* const d_gates_;
  const StepRows<T> d_h_, d_c_;
};

}  // namespace

template <typename T>
size_t RecurrentGradScratchBytes(const RecurrentShape& shape) {
  return Plan<T>(shape, 0).bytes;
}

template <typename T>
void RecurrentGrad(const Lease& threads, const RecurrentShape& shape,
                   const RecurrentBackward<T>& operands, void* scratch) {
  for (int64_t d = 0; d < shape.direction_count(); ++d) {
    Pass<T>(threads, shape, operands, d, scratch).Run();
  }
}

#define HR_INSTANTIATE(T)                                                                       \
  template size_t RecurrentGradScratchBytes<T>(const RecurrentShape&);                          \
  template void RecurrentGrad(const Lease&, const RecurrentShape&, const RecurrentBackward<T>&, \
                              void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
