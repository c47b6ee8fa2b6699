// RNN, GRU and LSTM, element by element after ONNX's formulas.
#include "runtime/ops/recurrent.h"

#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

using ops::RecurrentActivation;
using ops::RecurrentCell;
using Vector = std::vector<Number>;

// f(x) and f'(x).
struct Slope {
  Number y, dy;
};
Slope Evaluate(const RecurrentActivation& f, Number clip, Number x) {
  const bool clipped = std::fabs(x) > clip;
  if (clipped) x = x > 0 ? clip : -clip;
  const Number a = f.alpha, b = f.beta, tanh = std::tanh(x), sigmoid = 1 / (1 + std::exp(-x));
  const auto slope = [&]() -> Slope {
    switch (f.function) {
      case RecurrentActivation::kAffine: return {a * x + b, a};
      case RecurrentActivation::kElu:
        return x < 0 ? Slope{a * std::expm1(x), a * std::exp(x)} : Slope{x, 1};
      case RecurrentActivation::kHardSigmoid: {
        const Number line = a * x + b;
        if (line <= 0 || line >= 1) return {line <= 0 ? Number{0} : Number{1}, 0};
        return {line, a};
      }
      case RecurrentActivation::kLeakyRelu: return x < 0 ? Slope{a * x, a} : Slope{x, 1};
      case RecurrentActivation::kRelu: return x > 0 ? Slope{x, 1} : Slope{0, 0};
      case RecurrentActivation::kScaledTanh: {
        const Number scaled = std::tanh(b * x);
        return {a * scaled, a * b * (1 - scaled * scaled)};
      }
      case RecurrentActivation::kSigmoid: return {sigmoid, sigmoid * (1 - sigmoid)};
      case RecurrentActivation::kSoftplus:
        return {std::fmax(x, Number{0}) + std::log1p(std::exp(-std::fabs(x))), sigmoid};
      case RecurrentActivation::kSoftsign: {
        const Number below = 1 + std::fabs(x);
        return {x / below, 1 / (below * below)};
      }
      case RecurrentActivation::kTanh: return {tanh, 1 - tanh * tanh};
      case RecurrentActivation::kThresholdedRelu: return x > a ? Slope{x, 1} : Slope{0, 0};
    }
    return {};
  }();
  return {slope.y, clipped ? 0 : slope.dy};
}

// The sizes, the operands and where their elements lie. `x` is the place of the input x: 0, or 1
// for a gradient.
struct Layer {
  const Call& call;
  ops::RecurrentOptions options;
  const Array &x, &w, &r;
  const Array *bias, *lengths, *initial_h, *initial_c, *peepholes;
  int64_t steps, batch, input, hidden, gates, parts, directions;

  static const Array* Optional(const Call& call, size_t i) {
    return call.Has(i) ? &call.In(i) : nullptr;
  }
  static ops::RecurrentOptions OptionsOf(const Call& call) {
    auto options = ops::ResolveRecurrent(call.name, call.node);
    if (!options.ok()) Fail(options.status().ToString());
    return *options;
  }
  Layer(const Call& c, size_t first)
      : call(c),
        options(OptionsOf(c)),
        x(c.In(first)),
        w(c.In(first + 1)),
        r(c.In(first + 2)),
        bias(first == 0 ? Optional(c, 3) : nullptr),
        lengths(Optional(c, 4)),
        initial_h(Optional(c, 5)) {
    const bool lstm = options.cell == RecurrentCell::kLstm;
    initial_c = lstm ? Optional(c, 6) : nullptr;
    peepholes = lstm ? Optional(c, 7) : nullptr;
    steps = x.dims[options.batch_first ? 1 : 0];
    batch = x.dims[options.batch_first ? 0 : 1];
    input = x.dims[2];
    hidden = r.dims[2];
    gates = options.gates();
    parts = ops::RecordParts(options.cell);
    directions = static_cast<int64_t>(options.directions.size());
  }

  bool Active(int64_t t, int64_t n) const {
    if (lengths == nullptr) return true;
    const Number length = lengths->data[static_cast<size_t>(n)];
    if (length < 0 || length > static_cast<Number>(steps)) Fail("a length of ", int64_t(length));
    return static_cast<Number>(t) < length;
  }
  Dims X(int64_t t, int64_t n, int64_t i) const {
    return options.batch_first ? Dims{n, t, i} : Dims{t, n, i};
  }
  Dims Y(int64_t t, int64_t d, int64_t n, int64_t k) const {
    return options.batch_first ? Dims{n, t, d, k} : Dims{t, d, n, k};
  }
  Dims State(int64_t d, int64_t n, int64_t k) const {
    return options.batch_first ? Dims{n, d, k} : Dims{d, n, k};
  }
  Dims StateDims() const { return State(directions, batch, hidden); }
  Dims Record(int64_t d, int64_t t, int64_t n, int64_t k) const {
    return options.batch_first ? Dims{d, n, t, k} : Dims{d, t, n, k};
  }
  // An element of a gate's row of W, R, B, P.
  Number Bias(int64_t d, int64_t i) const { return bias == nullptr ? 0 : (*bias)[{d, i}]; }
  Number Peephole(int64_t d, int64_t i) const {
    return peepholes == nullptr ? 0 : (*peepholes)[{d, i}];
  }
  Vector Initial(const Array* from, int64_t d, int64_t n) const {
    Vector out(static_cast<size_t>(hidden));
    for (int64_t k = 0; from != nullptr && k < hidden; ++k) {
      out[static_cast<size_t>(k)] = (*from)[State(d, n, k)];
    }
    return out;
  }
  Slope F(int64_t d, size_t which, Number at) const {
    return Evaluate(options.directions[static_cast<size_t>(d)].activations[which], options.clip,
                    at);
  }
  int64_t Step(int64_t d, int64_t i) const {
    return options.directions[static_cast<size_t>(d)].reverse ? steps - 1 - i : i;
  }
};

// One sequence in one direction, forward.
struct Forward {
  const Layer& l;
  int64_t d, n;
  Vector h, c;

  // Row `row` of R by `state`.
  Number Recurrent(int64_t row, const Vector& state) const {
    Number sum = 0;
    for (int64_t k = 0; k < l.hidden; ++k) sum += l.r[{d, row, k}] * state[size_t(k)];
    return sum;
  }
  // What gate `g` owes to x and the biases, without R's bias if it is not asked for.
  Number Input(int64_t t, int64_t row, bool both) const {
    Number sum = l.Bias(d, row) + (both ? l.Bias(d, l.gates * l.hidden + row) : 0);
    for (int64_t i = 0; i < l.input; ++i) sum += l.w[{d, row, i}] * l.x[l.X(t, n, i)];
    return sum;
  }

  Vector Rnn(int64_t t) {
    const Vector before = h;
    Vector row(size_t(l.parts * l.hidden));
    for (int64_t k = 0; k < l.hidden; ++k) {
      row[size_t(k)] = Input(t, k, true) + Recurrent(k, before);
      h[size_t(k)] = l.F(d, 0, row[size_t(k)]).y;
    }
    return row;
  }
  Vector Gru(int64_t t) {
    const int64_t size = l.hidden;
    const bool linear = l.options.linear_before_reset;
    const Vector before = h;
    Vector row(size_t(l.parts * size)), reset(size_t(size), 0);
    for (int64_t k = 0; k < 2 * size; ++k) {
      row[size_t(k)] = Input(t, k, true) + Recurrent(k, before);
      if (k >= size)
        reset[size_t(k - size)] = l.F(d, 0, row[size_t(k)]).y * before[size_t(k - size)];
    }
    for (int64_t k = 0; k < size; ++k) {
      const int64_t gate = 2 * size + k;
      const Number z = l.F(d, 0, row[size_t(k)]).y, r = l.F(d, 0, row[size_t(size + k)]).y;
      const Number product = Recurrent(gate, linear ? before : reset);
      const Number inner = linear ? product + l.Bias(d, 3 * size + gate) : reset[size_t(k)];
      const Number in = linear ? r * inner : product;
      row[size_t(gate)] = Input(t, gate, !linear) + in;
      row[size_t(ops::kGruInner * size + k)] = inner;
      h[size_t(k)] = (1 - z) * l.F(d, 1, row[size_t(gate)]).y + z * before[size_t(k)];
    }
    return row;
  }
  Vector Lstm(int64_t t) {
    const int64_t size = l.hidden;
    const Vector before = h;
    Vector row(size_t(l.parts * size));
    for (int64_t k = 0; k < 4 * size; ++k) {
      row[size_t(k)] = Input(t, k, true) + Recurrent(k, before);
    }
    for (int64_t k = 0; k < size; ++k) {
      Number &i = row[size_t(k)], &o = row[size_t(size + k)], &f = row[size_t(2 * size + k)];
      i += l.Peephole(d, k) * c[size_t(k)];
      f += l.Peephole(d, 2 * size + k) * c[size_t(k)];
      const Number in = l.F(d, 0, i).y;
      const Number forget = l.options.input_forget ? 1 - in : l.F(d, 0, f).y;
      c[size_t(k)] = forget * c[size_t(k)] + in * l.F(d, 1, row[size_t(3 * size + k)]).y;
      o += l.Peephole(d, size + k) * c[size_t(k)];
      h[size_t(k)] = l.F(d, 0, o).y * l.F(d, 2, c[size_t(k)]).y;
      row[size_t(ops::kLstmState * size + k)] = c[size_t(k)];
    }
    return row;
  }
};

void Run(Call& call) {
  const Layer l(call, 0);
  const auto& places = ops::PlacesOf(l.options.cell);
  const DType dtype = l.x.dtype;
  Array y(dtype, l.Y(l.steps, l.directions, l.batch, l.hidden)), y_h(dtype, l.StateDims());
  Array y_c = y_h;
  Array record(dtype, l.Record(l.directions, l.steps, l.batch, l.parts * l.hidden));
  for (int64_t d = 0; d < l.directions; ++d) {
    for (int64_t n = 0; n < l.batch; ++n) {
      Forward f{l, d, n, l.Initial(l.initial_h, d, n), l.Initial(l.initial_c, d, n)};
      for (int64_t s = 0; s < l.steps; ++s) {
        const int64_t t = l.Step(d, s);
        Vector row(size_t(l.parts * l.hidden));
        if (l.Active(t, n)) {
          row = l.options.cell == RecurrentCell::kRnn   ? f.Rnn(t)
                : l.options.cell == RecurrentCell::kGru ? f.Gru(t)
                                                        : f.Lstm(t);
        }
        for (int64_t k = 0; k < l.hidden; ++k) {
          if (l.Active(t, n)) y[l.Y(t, d, n, k)] = f.h[size_t(k)];
          row[size_t((l.parts - 1) * l.hidden + k)] = f.h[size_t(k)];
          if (l.options.cell == RecurrentCell::kLstm) {
            row[size_t(ops::kLstmState * l.hidden + k)] = f.c[size_t(k)];
          }
        }
        for (int64_t k = 0; k < l.parts * l.hidden; ++k) {
          record[l.Record(d, t, n, k)] = row[size_t(k)];
        }
      }
      for (int64_t k = 0; k < l.hidden; ++k) {
        y_h[l.State(d, n, k)] = f.h[size_t(k)];
        y_c[l.State(d, n, k)] = f.c[size_t(k)];
      }
    }
  }
  call.Out(0, std::move(y));
  call.Out(1, std::move(y_h));
  if (places.y_c != ops::kNoPlace) call.Out(places.y_c, std::move(y_c));
  call.Out(places.record, std::move(record));
}

// One sequence in one direction, backward. What is added up over sequences is in `out`.
struct Gradients {
  Array dw, dr, dbias, d_peepholes, dx;
};
struct Backward {
  const Layer& l;
  const Array& record;
  int64_t d, n;
  Gradients& out;
  Vector dh, dc;
  int64_t t = 0;
  Vector h, c;  // before the step

  Number Row(int64_t k) const { return record[l.Record(d, t, n, k)]; }
  Slope Gate(int64_t gate, int64_t k, size_t which) const {
    return l.F(d, which, Row(gate * l.hidden + k));
  }
  // The gradient of what an activation is given reaches x, W and W's bias; and R, its bias and
  // `state`, the vector that row of R was multiplied by.
  void ToInput(int64_t row, Number g) {
    out.dbias[{d, row}] += g;
    for (int64_t i = 0; i < l.input; ++i) {
      out.dw[{d, row, i}] += g * l.x[l.X(t, n, i)];
      out.dx[l.X(t, n, i)] += g * l.w[{d, row, i}];
    }
  }
  void ToState(int64_t row, Number g, const Vector& state, Vector* d_state) {
    out.dbias[{d, l.gates * l.hidden + row}] += g;
    for (int64_t k = 0; k < l.hidden; ++k) {
      out.dr[{d, row, k}] += g * state[size_t(k)];
      (*d_state)[size_t(k)] += g * l.r[{d, row, k}];
    }
  }
  void ToBoth(int64_t row, Number g, Vector* d_state) {
    ToInput(row, g);
    ToState(row, g, h, d_state);
  }

  void Rnn() {
    Vector before(size_t(l.hidden), 0);
    for (int64_t k = 0; k < l.hidden; ++k) ToBoth(k, dh[size_t(k)] * Gate(0, k, 0).dy, &before);
    dh = before;
  }
  void Gru() {
    const int64_t size = l.hidden;
    const bool linear = l.options.linear_before_reset;
    Vector before(size_t(size), 0), d_reset(size_t(size), 0), reset(size_t(size), 0);
    for (int64_t k = 0; k < size; ++k) reset[size_t(k)] = Gate(1, k, 0).y * h[size_t(k)];
    for (int64_t k = 0; k < size; ++k) {
      const Slope z = Gate(0, k, 0), candidate = Gate(2, k, 1);
      const Number g = dh[size_t(k)];
      before[size_t(k)] += g * z.y;
      ToBoth(k, g * (h[size_t(k)] - candidate.y) * z.dy, &before);
      const Number d_candidate = g * (1 - z.y) * candidate.dy;
      ToInput(2 * size + k, d_candidate);
      if (linear) {
        const Slope r = Gate(1, k, 0);
        ToState(2 * size + k, d_candidate * r.y, h, &before);
        ToBoth(size + k, d_candidate * Row(ops::kGruInner * size + k) * r.dy, &before);
      } else {
        ToState(2 * size + k, d_candidate, reset, &d_reset);
      }
    }
    for (int64_t k = 0; !linear && k < size; ++k) {
      const Slope r = Gate(1, k, 0);
      before[size_t(k)] += d_reset[size_t(k)] * r.y;
      ToBoth(size + k, d_reset[size_t(k)] * h[size_t(k)] * r.dy, &before);
    }
    dh = before;
  }
  void Lstm() {
    const int64_t size = l.hidden;
    Vector before(size_t(size), 0);
    for (int64_t k = 0; k < size; ++k) {
      const Slope i = Gate(0, k, 0), o = Gate(1, k, 0), f = Gate(2, k, 0), g = Gate(3, k, 1);
      const Number now = Row(ops::kLstmState * size + k), old = c[size_t(k)];
      const Slope seen = l.F(d, 2, now);
      const Number d_o = dh[size_t(k)] * seen.y * o.dy;
      const Number d_c =
          dc[size_t(k)] + dh[size_t(k)] * o.y * seen.dy + d_o * l.Peephole(d, size + k);
      const bool coupled = l.options.input_forget;
      const Number d_i = d_c * (g.y - (coupled ? old : 0)) * i.dy;
      const Number d_f = coupled ? 0 : d_c * old * f.dy;
      dc[size_t(k)] = d_c * (coupled ? 1 - i.y : f.y) + d_i * l.Peephole(d, k) +
                      d_f * l.Peephole(d, 2 * size + k);
      ToBoth(k, d_i, &before);
      ToBoth(size + k, d_o, &before);
      ToBoth(2 * size + k, d_f, &before);
      ToBoth(3 * size + k, d_c * i.y * g.dy, &before);
      out.d_peepholes[{d, k}] += d_i * old;
      out.d_peepholes[{d, size + k}] += d_o * now;
      out.d_peepholes[{d, 2 * size + k}] += d_f * old;
    }
    dh = before;
  }
};

void RunGradient(Call& call) {
  const Layer l(call, 1);
  const auto& places = ops::PlacesOf(l.options.cell);
  const bool lstm = l.options.cell == RecurrentCell::kLstm;
  const DType dtype = l.x.dtype;
  Gradients out{Array(dtype, l.w.dims), Array(dtype, l.r.dims),
                Array(dtype, {l.directions, 2 * l.gates * l.hidden}),
                Array(dtype, {l.directions, 3 * l.hidden}), Array(dtype, l.x.dims)};
  Array dh(dtype, l.StateDims()), dc = dh;
  const Array& record = call.In(0);
  const Array* dy = Layer::Optional(call, places.dy);
  for (int64_t d = 0; d < l.directions; ++d) {
    for (int64_t n = 0; n < l.batch; ++n) {
      const auto initial = [&](size_t i) { return l.Initial(Layer::Optional(call, i), d, n); };
      Backward b{l, record, d, n, out, initial(places.dy_h), initial(places.dy_c), 0, {}, {}};
      for (int64_t s = l.steps - 1; s >= 0; --s) {
        b.t = l.Step(d, s);
        if (!l.Active(b.t, n)) continue;
        b.h = l.Initial(l.initial_h, d, n);
        b.c = l.Initial(l.initial_c, d, n);
        for (int64_t k = 0; k < l.hidden; ++k) {
          if (dy != nullptr) b.dh[size_t(k)] += (*dy)[l.Y(b.t, d, n, k)];
          if (s == 0) continue;
          const int64_t before = l.Step(d, s - 1);
          b.h[size_t(k)] = record[l.Record(d, before, n, (l.parts - 1) * l.hidden + k)];
          if (lstm) {
            b.c[size_t(k)] = record[l.Record(d, before, n, ops::kLstmState * l.hidden + k)];
          }
        }
        l.options.cell == RecurrentCell::kRnn ? b.Rnn() : lstm ? b.Lstm() : b.Gru();
      }
      for (int64_t k = 0; k < l.hidden; ++k) {
        dh[l.State(d, n, k)] = b.dh[size_t(k)];
        dc[l.State(d, n, k)] = b.dc[size_t(k)];
      }
    }
  }
  call.Out(0, std::move(out.dw));
  call.Out(1, std::move(out.dr));
  call.Out(2, std::move(out.dbias));
  call.Out(3, std::move(dh));
  if (lstm) {
    call.Out(4, std::move(dc));
    call.Out(5, std::move(out.d_peepholes));
  }
  call.Out(places.dx, std::move(out.dx));
}

const Entry kRecurrentEntries[] = {
    {"", "RNN", Run},
    {"", "GRU", Run},
    {"", "LSTM", Run},
    {"headrace.grad", "RNNGrad", RunGradient},
    {"headrace.grad", "GRUGrad", RunGradient},
    {"headrace.grad", "LSTMGrad", RunGradient},
};

}  // namespace

std::span<const Entry> RecurrentFunctions() { return kRecurrentEntries; }

}  // namespace hr::reference
