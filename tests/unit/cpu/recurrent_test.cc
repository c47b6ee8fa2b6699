// RNN, GRU and LSTM with their gradients, against the reference.
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

struct Cell {
  const char* name;
  int64_t gates;
};
constexpr Cell kCells[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};

// A layer drawn at random: its sizes, its attributes, and which operands it has.
template <typename T>
struct Drawn {
  Cell cell;
  bool lstm, batch_first;
  std::string direction;
  int64_t directions, steps, batch, input, hidden;
  bool with[8];  // by the place of the input

  Dims X() const { return batch_first ? Dims{batch, steps, input} : Dims{steps, batch, input}; }
  Dims Y() const {
    return batch_first ? Dims{batch, steps, directions, hidden}
                       : Dims{steps, directions, batch, hidden};
  }
  Dims State() const {
    return batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  }
  Dims Input(size_t place) const {
    const int64_t gates = cell.gates * hidden;
    const Dims dims[] = {X(),
                         {directions, gates, input},
                         {directions, gates, hidden},
                         {directions, 2 * gates},
                         {batch},
                         State(),
                         State(),
                         {directions, 3 * hidden}};
    return dims[place];
  }
};

class RecurrentTest : public KernelTest {
 protected:
  template <typename T>
  Drawn<T> Draw(const Cell& cell) {
    static const char* const kDirections[] = {"forward", "reverse", "bidirectional"};
    Drawn<T> out;
    out.cell = cell;
    out.lstm = cell.gates == 4;
    out.batch_first = RandomInt(0, 1) == 1;
    out.direction = kDirections[RandomInt(0, 2)];
    out.directions = out.direction == "bidirectional" ? 2 : 1;
    out.steps = RandomInt(1, 6);
    out.batch = RandomInt(1, 5);
    out.input = RandomInt(1, 9);
    out.hidden = RandomInt(0, 3) == 0 ? RandomInt(30, 70) : RandomInt(1, 9);
    for (size_t i = 0; i < 8; ++i) out.with[i] = i < 3 || RandomInt(0, 1) == 1;
    return out;
  }

  template <typename T>
  Tensor Numbers(const Dims& dims) {
    std::vector<T> values = Random<T>(ElementCount(dims));
    for (T& value : values) value *= T(0.5);
    return OneNodeRun::Make<T>(dims, values);
  }
  template <typename T>
  std::vector<Tensor> Operands(const Drawn<T>& drawn) {
    std::vector<Tensor> out(drawn.lstm ? 8 : 6);
    for (size_t i = 0; i < out.size(); ++i) {
      if (!drawn.with[i]) continue;
      if (i != 4) {
        out[i] = Numbers<T>(drawn.Input(i));
        continue;
      }
      std::vector<int32_t> lengths;
      for (int64_t n = 0; n < drawn.batch; ++n) {
        lengths.push_back(static_cast<int32_t>(RandomInt(0, drawn.steps)));
      }
      out[i] = OneNodeRun::Make<int32_t>({drawn.batch}, lengths);
    }
    return out;
  }

  // The same attributes for a layer and its gradient.
  template <typename T>
  std::vector<graph::Attribute> Attributes(const Drawn<T>& drawn) {
    std::vector<graph::Attribute> out = {{"direction", drawn.direction},
                                         {"layout", int64_t{drawn.batch_first}}};
    if (drawn.cell.gates == 3) out.push_back({"linear_before_reset", RandomInt(0, 1)});
    if (drawn.lstm) out.push_back({"input_forget", RandomInt(0, 1)});
    if (RandomInt(0, 2) == 0) out.push_back({"clip", 0.4});
    return out;
  }

  // Enough for products on a matrix unit, and for tasks that have some of the sequences or of the
  // hidden units each.
  template <typename T>
  Drawn<T> DrawLarge(const Cell& cell) {
    Drawn<T> out = Draw<T>(cell);
    out.steps = RandomInt(2, 5);
    out.batch = RandomInt(6, 40);
    out.input = RandomInt(10, 40);
    out.hidden = RandomInt(0, 1) == 0 ? 64 : RandomInt(33, 70);
    return out;
  }

  template <typename T>
  void CheckLayer(const Cell& cell, std::vector<graph::Attribute> more = {});
  template <typename T>
  void CheckDrawn(const Drawn<T>& drawn, const std::vector<Tensor>& operands,
                  const std::vector<graph::Attribute>& attributes, double error);
};

void Add(OneNodeRun& run, const Tensor& value) {
  value.dtype() == DType::kUndefined ? run.Omit() : run.In(value);
}

template <typename T>
void RecurrentTest::CheckLayer(const Cell& cell, std::vector<graph::Attribute> more) {
  Drawn<T> drawn = Draw<T>(cell);
  if (!more.empty()) drawn.directions = 1;
  if (!more.empty()) drawn.direction = "reverse";
  const std::vector<Tensor> operands = Operands(drawn);
  auto attributes = Attributes(drawn);
  attributes.insert(attributes.end(), more.begin(), more.end());
  CheckDrawn(drawn, operands, attributes, sizeof(T) == 4 ? 3e-5 : 1e-13);
}

template <typename T>
void RecurrentTest::CheckDrawn(const Drawn<T>& drawn, const std::vector<Tensor>& operands,
                               const std::vector<graph::Attribute>& attributes, double error) {
  const Cell& cell = drawn.cell;
  const auto finish = [&](OneNodeRun& run) {
    for (const graph::Attribute& a : attributes) {
      std::visit([&](const auto& value) { run.With(a.name, value); }, a.value);
    }
    run.Threads(static_cast<int>(RandomInt(1, 3))).Check(error, error);
  };
  // Without a record, and with the record that the gradient takes.
  std::vector<Tensor> outputs;
  const size_t all = drawn.lstm ? 4 : 3;
  for (size_t count : {all - 1, all}) {
    OneNodeRun layer(cell.name);
    for (const Tensor& operand : operands) Add(layer, operand);
    finish(layer.Outputs(count));
    if (HasFailure()) return;
    outputs = layer.MustRun();
  }
  OneNodeRun grad(std::string(cell.name) + "Grad", "headrace.grad");
  grad.In(outputs.back()).In(operands[0]).In(operands[1]).In(operands[2]);
  for (size_t i = 4; i < operands.size(); ++i) Add(grad, operands[i]);
  const size_t given = static_cast<size_t>(RandomInt(1, 7));
  for (size_t i = 0; i + 1 < all; ++i) {
    (given >> i & 1) != 0 ? grad.In(Numbers<T>(i == 0 ? drawn.Y() : drawn.State())) : grad.Omit();
  }
  finish(grad.Outputs((drawn.lstm ? 6 : 4) + static_cast<size_t>(RandomInt(0, 1))));
}

TEST_P(RecurrentTest, LayersAndGradients) {
  for (int i = 0; i < Rounds(25) && !HasFailure(); ++i) {
    for (const Cell& cell : kCells) {
      CheckLayer<float>(cell);
      CheckLayer<double>(cell);
    }
  }
}

TEST_P(RecurrentTest, EveryActivation) {
  using Names = std::vector<std::string>;
  for (const char* f : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
                        "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
    for (int i = 0; i < 3; ++i) {
      CheckLayer<float>(kCells[0], {{"activations", Names{f}}});
      CheckLayer<double>(kCells[0], {{"activations", Names{f}}});
      CheckLayer<double>(kCells[1], {{"activations", Names{f, f}}});
      CheckLayer<double>(kCells[2], {{"activations", Names{f, f, f}}});
    }
  }
}

// Large enough that the products and the rows of a step are cut among threads.
TEST_P(RecurrentTest, ManySequences) {
  for (const Cell& cell : kCells) {
    OneNodeRun run(cell.name);
    const int64_t rows = cell.gates * 48;
    run.In(Numbers<float>({3, 40, 20})).In(Numbers<float>({1, rows, 20}));
    run.In(Numbers<float>({1, rows, 48})).Threads(3);
    run.Check(1e-4, 1e-4);
  }
}

TEST_P(RecurrentTest, LargeLayersAndGradients) {
  for (int i = 0; i < Rounds(2) && !HasFailure(); ++i) {
    for (const Cell& cell : kCells) {
      const Drawn<float> drawn = DrawLarge<float>(cell);
      CheckDrawn(drawn, Operands(drawn), Attributes(drawn), 2e-4);
    }
  }
}

// A gate that is given an infinity is open or closed; only what is no number stays so.
TEST_P(RecurrentTest, InfinitiesAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Cell& cell : kCells) {
    for (const int64_t batch : {9, 40}) {
      std::vector<float> x = Random<float>(4 * batch * 32);
      x[static_cast<size_t>(batch * 32 + 70)] = kInfinity;
      x[static_cast<size_t>(batch * 32 + 140)] = -kInfinity;
      x[static_cast<size_t>(2 * batch * 32 + 33)] = std::numeric_limits<float>::quiet_NaN();
      const int64_t rows = cell.gates * 64;
      OneNodeRun run(cell.name);
      run.In<float>({4, batch, 32}, x).In(Numbers<float>({1, rows, 32}));
      run.In(Numbers<float>({1, rows, 64})).Outputs(2).Threads(2).Check(1e-4, 1e-4);
    }
  }
}

TEST_P(RecurrentTest, NothingToDo) {
  for (const Cell& cell : kCells) {
    for (const Dims& dims : {Dims{0, 2, 3}, Dims{2, 0, 3}}) {
      OneNodeRun run(cell.name);
      run.In(Numbers<float>(dims)).In(Numbers<float>({1, cell.gates * 4, 3}));
      run.In(Numbers<float>({1, cell.gates * 4, 4})).Omit().Omit();
      run.In(Numbers<float>({1, dims[1], 4})).Outputs(cell.gates == 4 ? 4 : 3).Check();
      const auto outputs = run.MustRun();
      OneNodeRun grad(std::string(cell.name) + "Grad", "headrace.grad");
      grad.In(outputs.back()).In(Numbers<float>(dims)).In(Numbers<float>({1, cell.gates * 4, 3}));
      grad.In(Numbers<float>({1, cell.gates * 4, 4})).Outputs(cell.gates == 4 ? 7 : 5).Check();
    }
  }
}

// 16-bit floats are computed in float32 and rounded at the end.
TEST_P(RecurrentTest, Halves) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const auto half = [&](const Dims& dims) {
      reference::Array array = reference::FromTensor(Numbers<float>(dims));
      array.dtype = dtype;
      return reference::ToTensor(array);
    };
    const double error = dtype == DType::kFloat16 ? 1e-3 : 8e-3;
    OneNodeRun layer("LSTM");
    layer.In(half({3, 2, 4})).In(half({1, 12, 4})).In(half({1, 12, 3})).Outputs(4);
    layer.Check(error, 1e-6);
    OneNodeRun empty("RNN");
    empty.In(half({0, 2, 4})).In(half({1, 3, 4})).In(half({1, 3, 3})).Outputs(2);
    empty.Check(error, 1e-6);
  }
}

TEST_P(RecurrentTest, RefusesLengthsThatPassTheSteps) {
  for (int32_t length : {-1, 4}) {
    OneNodeRun run("RNN");
    run.In(Numbers<float>({3, 2, 1})).In(Numbers<float>({1, 1, 1})).In(Numbers<float>({1, 1, 1}));
    run.Omit().In<int32_t>({2}, {3, length});
    ExpectFailure(run, Cat("lengths from 0 to the 3 steps of the input, got ", length));
  }
}

HR_KERNEL_TESTS(RecurrentTest);

}  // namespace
}  // namespace hr::cpu
