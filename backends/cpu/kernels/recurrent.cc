#include "backends/cpu/kernels/recurrent.h"

#include "backends/cpu/kernels/recurrent_cut.h"

namespace hr::cpu {
namespace {

// Where everything is in scratch memory. The directions use it one after the other.
template <typename T>
struct Plan {
  RecurrentLayout layout;
  RecurrentCut cut;
  SteadyProduct<T> project, joint, last;  // RecurrentProducts
  int64_t width;                          // of a task's rows
  // Of all tasks: the states h before a step and behind it, and the inner part of a GRU.
  size_t h_at, inner_at;
  // Of the tasks of each part, `part_bytes` apart: what the products have prepared.
  size_t parts_at, project_at, joint_at, last_at, part_bytes;
  // Of each task, `task_bytes` apart.
  size_t tasks_at, rows_at, x_at, bias_at, peepholes_at, finish_at, product_at, task_bytes;
  size_t bytes;

  Plan(const RecurrentShape& shape, int64_t d)
      : layout(shape, d),
        cut(MakeRecurrentCut<T>(shape, layout)),
        // Rows at a power of two from each other would fall on the same lines of the cache.
        width(RoundUp(layout.parts() * cut.hidden, kLine) + kLine) {
    const RecurrentProducts products(shape, layout, cut);
    project = {products.project, products.Others(products.project)};
    joint = {products.joint, products.Others(products.joint)};
    if (layout.is_gru()) last = {products.last, products.Others(products.last)};
    PlanPart();
    PlanTask(shape);
    ScratchParts parts;
    h_at = parts.Take<T>(2 * shape.batch * layout.hidden());
    inner_at = parts.Take<T>(layout.is_gru() ? shape.batch * layout.hidden() : 0);
    parts_at = parts.TakeBytes(part_bytes * static_cast<size_t>(cut.parts));
    tasks_at = parts.TakeBytes(task_bytes * static_cast<size_t>(cut.tasks()));
    bytes = parts.bytes() + kAlignment;
  }

  // Rows of x are brought together.
  bool gathers() const { return cut.steps > 1; }

  static constexpr int64_t kAlignment = 64;
  static constexpr int64_t kLine = kAlignment / static_cast<int64_t>(sizeof(T));

 private:
  void PlanPart() {
    ScratchParts parts;
    project_at = parts.TakeBytes(project.memory_bytes());
    joint_at = parts.TakeBytes(joint.memory_bytes());
    last_at = parts.TakeBytes(layout.is_gru() ? last.memory_bytes() : 0);
    part_bytes = parts.bytes();
  }
  void PlanTask(const RecurrentShape& shape) {
    ScratchParts parts;
    const int64_t rows = cut.steps * cut.sequences;
    rows_at = parts.Take<T>((cut.sequences + rows) * width);
    x_at = parts.Take<T>(gathers() ? rows * shape.input : 0);
    bias_at = parts.Take<T>((layout.gates() + 1) * cut.hidden);
    peepholes_at = parts.Take<T>(3 * cut.hidden);
    finish_at = parts.Take<T>(kRowScratch * cut.hidden);
    product_at = parts.TakeBytes(ProductBytes(shape));
    task_bytes = parts.bytes();
  }
  size_t ProductBytes(const RecurrentShape& shape) const {
    const int64_t most = cut.sequences, least = shape.batch / cut.groups;
    const int64_t x = gathers() ? shape.input : layout.batch_stride() * shape.input;
    const size_t out = std::max(project.scratch_bytes({most * cut.steps, least * cut.steps}, x),
                                joint.scratch_bytes({most, least}, layout.hidden()));
    if (!layout.is_gru()) return out;
    return std::max(out, last.scratch_bytes({most, least}, layout.hidden()));
  }
};

// What a task computes, and where its memory is.
template <typename T>
struct Task {
  Range sequences, hidden;
  int group;
  // Of the step before, then of each of the steps whose x is multiplied at one time: rows as those
  // of a record, of the task's hidden units.
  T* rows;
  T *x, *bias, *peepholes, *finish;
  std::byte *product, *part;

  int64_t count() const { return sequences.size(); }
};

template <typename T>
class Pass {
 public:
  Pass(const Lease& threads, const RecurrentShape& shape, const RecurrentForward<T>& p, int64_t d,
       void* scratch)
      : threads_(threads),
        shape_(shape),
        p_(p),
        plan_(shape, d),
        at_(plan_.layout),
        cut_(plan_.cut),
        hidden_(at_.hidden()),
        gates_(at_.gates()),
        own_(at_.row_shape()),
        scratch_(reinterpret_cast<std::byte*>(
            RoundUp(reinterpret_cast<intptr_t>(scratch), plan_.kAlignment))),
        record_(at_.Own(p.record, shape.rows() * at_.parts() * hidden_)),
        w_(at_.Own(p.w, gates_ * hidden_ * shape.input)),
        r_(at_.Own(p.r, gates_ * hidden_ * hidden_)),
        bias_(at_.Own(p.bias, 2 * gates_ * hidden_)),
        peepholes_(at_.Own(p.peepholes, 3 * hidden_)) {
    own_.hidden = cut_.hidden;
  }

  void Run() {
    threads_.ParallelFor(cut_.tasks(), [&](int number) {
      const Task<T> task = TaskOf(number);
      Start(task);
      if (shape_.steps == 0) KeepStates(task, -1);
    });
    if (cut_.parts == 1) {
      threads_.ParallelFor(cut_.tasks(), [&](int number) { Steps(TaskOf(number)); });
      return;
    }
    for (int64_t i = 0; i < shape_.steps; ++i) {
      threads_.ParallelFor(cut_.tasks(), [&](int number) { Begin(TaskOf(number), i); });
      if (!has_reset()) continue;
      threads_.ParallelFor(cut_.tasks(), [&](int number) { End(TaskOf(number), i); });
    }
  }

 private:
  bool lstm() const { return at_.is(ops::RecurrentCell::kLstm); }
  bool linear() const { return at_.row_shape().linear_before_reset; }
  // The candidates of a GRU need all of its inner part.
  bool has_reset() const { return at_.is_gru() && !linear(); }

  Task<T> TaskOf(int number) const {
    const int group = number / cut_.parts, part = number % cut_.parts;
    std::byte* const memory =
        scratch_ + plan_.tasks_at + static_cast<size_t>(number) * plan_.task_bytes;
    const auto at = [&](size_t offset) { return reinterpret_cast<T*>(memory + offset); };
    return {.sequences = PartOf(shape_.batch, cut_.groups, group),
            .hidden = {part * cut_.hidden, std::min(hidden_, (part + 1) * cut_.hidden)},
            .group = group,
            .rows = at(plan_.rows_at),
            .x = at(plan_.x_at),
            .bias = at(plan_.bias_at),
            .peepholes = at(plan_.peepholes_at),
            .finish = at(plan_.finish_at),
            .product = memory + plan_.product_at,
            .part = scratch_ + plan_.parts_at + static_cast<size_t>(part) * plan_.part_bytes};
  }

  // The rows of a task's sequences behind step number i, or before all for -1.
  StepRows<T> RowsOf(const Task<T>& task, int64_t i) const {
    const int64_t block = i < 0 ? 0 : 1 + i % cut_.steps;
    return {task.rows + block * task.count() * plan_.width, plan_.width};
  }
  StepRows<T> RowsBefore(const Task<T>& task, int64_t i) const {
    return RowsOf(task, i % cut_.steps == 0 ? -1 : i - 1);
  }
  int64_t At(int64_t part) const { return part * cut_.hidden; }  // in a task's row
  int64_t state() const { return at_.parts() - 1; }
  RecurrentStates<T> StatesOf(const Task<T>& task, const T* row) const {
    return {.h = row + At(state()),
            .c = lstm() ? row + At(ops::kLstmState) : nullptr,
            .peepholes = peepholes_ == nullptr ? nullptr : task.peepholes};
  }
  // What all tasks see of a group's sequences: h before step number i, and a GRU's inner part.
  StepRows<T> H(const Task<T>& task, int64_t i) const {
    return SharedRows(task, plan_.h_at, i % 2 * shape_.batch);
  }
  StepRows<T> Inner(const Task<T>& task) const { return SharedRows(task, plan_.inner_at, 0); }
  StepRows<T> SharedRows(const Task<T>& task, size_t at, int64_t row) const {
    return {reinterpret_cast<T*>(scratch_ + at) + (row + task.sequences.begin) * hidden_, hidden_};
  }

  // ---- Before the first step ----

  // The rows of W or R, k elements each, of a task's hidden units and gates from `gate` on.
  SteadyMatrix<T> Matrix(const Task<T>& task, const T* all, int64_t k, int64_t gate, int64_t count,
                         size_t at) const {
    return {.rows = all + (gate * hidden_ + task.hidden.begin) * k,
            .distance = hidden_,
            .columns = cut_.parts == 1 ? count * hidden_ : task.hidden.size(),
            .memory = task.part + at};
  }
  SteadyMatrix<T> W(const Task<T>& task) const {
    return Matrix(task, w_, shape_.input, 0, gates_, plan_.project_at);
  }
  SteadyMatrix<T> Joint(const Task<T>& task) const {
    return Matrix(task, r_, hidden_, 0, at_.joint_gates(), plan_.joint_at);
  }
  SteadyMatrix<T> Last(const Task<T>& task) const {
    return Matrix(task, r_, hidden_, 2, 1, plan_.last_at);
  }

  void Start(const Task<T>& task) const {
    const auto prepare = [&](const SteadyProduct<T>& product, const SteadyMatrix<T>& matrix) {
      product.Prepare(matrix, PartOf(product.panels(), cut_.groups, task.group));
    };
    prepare(plan_.project, W(task));
    prepare(plan_.joint, Joint(task));
    if (at_.is_gru()) prepare(plan_.last, Last(task));
    StartBias(task);
    for (int64_t part = 0; peepholes_ != nullptr && part < 3; ++part) {
      CopyOwn(task, peepholes_ + part * hidden_, task.peepholes + At(part));
    }
    StartStates(task);
  }

  // A task's own elements of a row, and zeros where it has more of them. Null stands for zeros.
  void CopyOwn(const Task<T>& task, const T* from, T* to) const {
    const int64_t count = from == nullptr ? 0 : task.hidden.size();
    if (count > 0) std::copy_n(from + task.hidden.begin, count, to);
    std::fill_n(to + count, cut_.hidden - count, T(0));
  }
  void Publish(const Task<T>& task, const T* own, T* row) const {
    std::copy_n(own, task.hidden.size(), row + task.hidden.begin);
  }

  // The sums of both biases of all gates; then that of a GRU's inner part, if it has one.
  void StartBias(const Task<T>& task) const {
    if (bias_ == nullptr) return void(std::fill_n(task.bias, At(gates_ + 1), T(0)));
    const T* const of_r = bias_ + gates_ * hidden_;
    for (int64_t gate = 0; gate < gates_; ++gate) {
      T* const to = task.bias + At(gate);
      CopyOwn(task, bias_ + gate * hidden_, to);
      if (linear() && gate == 2) continue;
      const T* const other = of_r + gate * hidden_ + task.hidden.begin;
      for (int64_t k = 0; k < task.hidden.size(); ++k) to[k] += other[k];
    }
    CopyOwn(task, linear() ? of_r + 2 * hidden_ : nullptr, task.bias + At(gates_));
  }

  void StartStates(const Task<T>& task) const {
    const StepRows<const T> h = at_.State(p_.initial_h), c = at_.State(p_.initial_c);
    const StepRows<T> rows = RowsOf(task, -1), all = H(task, 0);
    for (int64_t n = 0; n < task.count(); ++n) {
      const int64_t sequence = task.sequences.begin + n;
      CopyOwn(task, h[sequence], rows[n] + At(state()));
      if (lstm()) CopyOwn(task, c[sequence], rows[n] + At(ops::kLstmState));
      Publish(task, rows[n] + At(state()), all[n]);
    }
  }

  // ---- Steps ----

  void Steps(const Task<T>& task) const {
    for (int64_t i = 0; i < shape_.steps; ++i) {
      Begin(task, i);
      if (has_reset()) End(task, i);
    }
  }

  // Up to where tasks meet.
  void Begin(const Task<T>& task, int64_t i) const {
    if (i % cut_.steps == 0) {
      if (i > 0) CarryStates(task, i - 1);
      Project(task, i);
    }
    const StepRows<T> rows = RowsOf(task, i);
    if (HasState(i)) {
      Multiply(plan_.joint, Joint(task), task, H(task, i), rows, {.add = true});
    }
    if (has_reset()) return Reset(task, i);
    if (linear()) AddInner(task, i);
    Finish(task, i);
  }
  void End(const Task<T>& task, int64_t i) const {
    if (HasState(i)) {
      Multiply(plan_.last, Last(task), task, Inner(task), RowsOf(task, i).Part(At(2)),
               {.add = true});
    }
    Finish(task, i);
  }

  bool HasState(int64_t i) const { return i > 0 || p_.initial_h != nullptr; }

  void Multiply(const SteadyProduct<T>& product, const SteadyMatrix<T>& matrix, const Task<T>& task,
                StepRows<T> a, StepRows<T> c, SteadyCall<T> call) const {
    call.rows = task.count();
    call.a = a.data;
    call.lda = a.stride;
    call.c = c.data;
    call.ldc = c.stride;
    product.Run(matrix, call, task.product);
  }

  // The states behind step number i, which other steps' rows take the place of.
  void CarryStates(const Task<T>& task, int64_t i) const {
    const StepRows<T> from = RowsOf(task, i), to = RowsOf(task, -1);
    const int64_t first = At(lstm() ? ops::kLstmState : state());
    for (int64_t n = 0; n < task.count(); ++n) {
      std::copy_n(from[n] + first, At(state() + 1) - first, to[n] + first);
    }
  }

  const T* X(const Task<T>& task, int64_t i, int64_t n) const {
    return p_.x +
           (at_.Step(i) * at_.step_stride() + (task.sequences.begin + n) * at_.batch_stride()) *
               shape_.input;
  }

  // The gates of steps from number i on: what they owe to x and to the biases.
  void Project(const Task<T>& task, int64_t i) const {
    const StepRows<T> rows = RowsOf(task, i);
    SteadyCall<T> call{.rows = cut_.steps * task.count(),
                       .a = X(task, i, 0),
                       .lda = at_.batch_stride() * shape_.input,
                       .c = rows.data,
                       .ldc = rows.stride,
                       .bias = task.bias};
    if (plan_.gathers()) {
      Gather(task, i);
      call.a = task.x;
      call.lda = shape_.input;
    }
    plan_.project.Run(W(task), call, task.product);
  }
  void Gather(const Task<T>& task, int64_t i) const {
    T* to = task.x;
    for (int64_t step = i; step < i + cut_.steps; ++step) {
      for (int64_t n = 0; n < task.count(); ++n, to += shape_.input) {
        step < shape_.steps ? std::copy_n(X(task, step, n), shape_.input, to)
                            : std::fill_n(to, shape_.input, T(0));
      }
    }
  }

  // Of a GRU: its inner part, reset gate * h.
  void Reset(const Task<T>& task, int64_t i) const {
    const StepRows<T> rows = RowsOf(task, i), before = RowsBefore(task, i), all = Inner(task);
    for (int64_t n = 0; n < task.count(); ++n) {
      ResetRow<T>(own_, StatesOf(task, before[n]), rows[n], task.finish);
      Publish(task, rows[n] + At(ops::kGruInner), all[n]);
    }
  }
  // The same of one with linear_before_reset: h by the last part of R, with its bias.
  void AddInner(const Task<T>& task, int64_t i) const {
    const T* const bias = task.bias + At(gates_);
    const StepRows<T> inner = RowsOf(task, i).Part(At(ops::kGruInner));
    if (HasState(i)) {
      return Multiply(plan_.last, Last(task), task, H(task, i), inner, {.bias = bias});
    }
    for (int64_t n = 0; n < task.count(); ++n) std::copy_n(bias, cut_.hidden, inner[n]);
  }

  void Finish(const Task<T>& task, int64_t i) const {
    const int64_t t = at_.Step(i);
    const StepRows<T> rows = RowsOf(task, i), before = RowsBefore(task, i), h = H(task, i + 1);
    const StepRows<T> y = at_.Output(p_.y, t).From(task.sequences.begin);
    for (int64_t n = 0; n < task.count(); ++n) {
      const bool active = at_.Active(p_.lengths, t, task.sequences.begin + n);
      if (active) {
        FinishRow<T>(own_, StatesOf(task, before[n]), rows[n], task.finish);
      } else {
        Skip(before[n], rows[n]);
      }
      const T* const now = rows[n] + At(state());
      Publish(task, now, h[n]);
      if (record_ != nullptr) Record(task, t, n, rows[n]);
      if (y.data == nullptr) continue;
      T* const to = y[n] + task.hidden.begin;
      active ? std::copy_n(now, task.hidden.size(), to) : std::fill_n(to, task.hidden.size(), T(0));
    }
    if (i + 1 == shape_.steps) KeepStates(task, i);
  }
  // Behind the end of a sequence.
  void Skip(const T* before, T* row) const {
    const int64_t first = At(lstm() ? ops::kLstmState : state());
    std::fill_n(row, first, T(0));
    std::copy_n(before + first, At(state() + 1) - first, row + first);
  }
  void Record(const Task<T>& task, int64_t t, int64_t n, const T* row) const {
    T* const to =
        at_.At(record_, at_.parts() * hidden_, t)[task.sequences.begin + n] + task.hidden.begin;
    for (int64_t part = 0; part < at_.parts(); ++part) {
      std::copy_n(row + At(part), task.hidden.size(), to + part * hidden_);
    }
  }

  // The last states, behind step number i.
  void KeepStates(const Task<T>& task, int64_t i) const {
    const auto keep = [&](int64_t part, T* to) {
      if (to == nullptr) return;
      const StepRows<T> rows = RowsOf(task, i), all = at_.State(to).From(task.sequences.begin);
      for (int64_t n = 0; n < task.count(); ++n) Publish(task, rows[n] + At(part), all[n]);
    };
    keep(state(), p_.y_h);
    keep(ops::kLstmState, p_.y_c);
  }

  const Lease& threads_;
  const RecurrentShape& shape_;
  const RecurrentForward<T>& p_;
  const Plan<T> plan_;
  const RecurrentLayout& at_;
  const RecurrentCut& cut_;
  const int64_t hidden_, gates_;
  RecurrentRowShape own_;  // of a task
  std::byte* const scratch_;
  T* const record_;
  const T *const w_, *const r_, *const bias_, *const peepholes_;
};

}  // namespace

template <typename T>
size_t RecurrentScratchBytes(const RecurrentShape& shape) {
  return Plan<T>(shape, 0).bytes;
}

template <typename T>
void Recurrent(const Lease& threads, const RecurrentShape& shape,
               const RecurrentForward<T>& operands, void* scratch) {
  if (shape.batch == 0) return;
  for (int64_t d = 0; d < shape.direction_count(); ++d) {
    Pass<T>(threads, shape, operands, d, scratch).Run();
  }
}

#define HR_INSTANTIATE(T)                                          \
  template size_t RecurrentScratchBytes<T>(const RecurrentShape&); \
  template void Recurrent(const Lease&, const RecurrentShape&, const RecurrentForward<T>&, void*);
HR_INSTANTIATE(float)
HR_INSTANTIATE(double)
#undef HR_INSTANTIATE

}  // namespace hr::cpu
