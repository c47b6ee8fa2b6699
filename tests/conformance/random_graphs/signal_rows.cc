// Fourier transforms, windows and mel bands.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

std::string Scalar(Draft& draft, int64_t value) {
  return draft.Constant(draft.rng().Pick({DType::kInt64, DType::kInt32}), {},
                        {static_cast<double>(value)});
}

// Real parts of any value, or real and imaginary parts.
std::string Complex(Draft& draft, const Row& row, bool both) {
  const std::string x = draft.Operand(
      {.types = row.types, .low = -100, .high = 100, .least_rank = 1, .most_rank = 3});
  if (x.empty()) return "";
  const std::string real = draft.One("Unsqueeze", 13, {x, draft.Ints({-1})});
  if (!both && draft.rng().Chance(50)) return real;
  if (real.empty()) return "";
  const std::string imaginary =
      draft.rng().Chance(50) ? real : draft.Leaf(draft[x].dtype, draft[real].dims);
  return draft.One("Concat", 13, {real, imaginary}, {Int("axis", -1)});
}

std::string FourierTransform(Draft& draft, const Row& row) {
  const std::string x = Complex(draft, row, true);
  if (x.empty()) return "";
  const auto axis = static_cast<int64_t>(draft.rng().Index(draft[x].rank() - 1));
  return draft.One(row.op, row.version, {x},
                   {Int("axis", axis), Int("inverse", draft.rng().Between(0, 1))});
}

std::string Dft(Draft& draft, const Row& row) {
  const std::string x = Complex(draft, row, false);
  if (x.empty()) return "";
  const auto rank = static_cast<int64_t>(draft[x].rank());
  int64_t axis = draft.rng().Between(0, rank - 2);
  if (draft.rng().Chance(30)) axis -= rank;
  const int64_t size = draft[x].dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  std::vector<NamedAttribute> attributes = {Int("inverse", draft.rng().Between(0, 1)),
                                            Int("onesided", draft.rng().Between(0, 1))};
  // Back from one bin to a length of 0.
  const bool nothing = size == 1 && attributes[0].value == graph::AttributeValue(int64_t{1}) &&
                       attributes[1].value == graph::AttributeValue(int64_t{1});
  std::vector<std::string> operands = {x, "_", "_"};
  if (nothing || draft.rng().Chance(50)) {
    operands[1] = Scalar(draft, draft.rng().Between(1, 2 * size + 1));
  }
  if (row.version < 20) {
    attributes.push_back(Int("axis", axis));
  } else {
    operands[2] = Scalar(draft, axis);
  }
  while (operands.back() == "_") operands.pop_back();
  return draft.One(row.op, row.version, operands, attributes);
}

std::string Stft(Draft& draft, const Row& row) {
  const DType dtype = draft.AnyType(row.types);
  const int64_t size = draft.rng().Between(4, 40), length = draft.rng().Between(1, size);
  Dims dims = {draft.batch(), size};
  if (draft.rng().Chance(80)) dims.push_back(draft.rng().Between(1, 2));
  std::vector<std::string> operands = {draft.Leaf(dtype, dims),
                                       Scalar(draft, draft.rng().Between(1, 5)), "_", "_"};
  if (draft.rng().Chance(60)) operands[2] = draft.Leaf(dtype, {length}, 0, 1);
  if (operands[2] == "_" || draft.rng().Chance(30)) operands[3] = Scalar(draft, length);
  while (operands.back() == "_") operands.pop_back();
  return draft.One(row.op, row.version, operands, {Int("onesided", draft.rng().Between(0, 1))});
}

NamedAttribute AnyOutput(Draft& draft) {
  return Int("output_datatype", static_cast<int64_t>(draft.AnyType(kFloats)));
}

std::string Window(Draft& draft, const Row& row) {
  const int64_t periodic = draft.rng().Between(0, 1);
  // A symmetric window of one element has no end to divide by.
  return draft.One(row.op, row.version, {Scalar(draft, draft.rng().Between(2 - periodic, 33))},
                   {Int("periodic", periodic), AnyOutput(draft)});
}

std::string Mel(Draft& draft, const Row& row) {
  const DType dtype = draft.AnyType(kFloats);
  const auto rate = draft.rng().Pick<int64_t>({8000, 8192, 16000});
  const double low = draft.rng().Pick({0.0, 20.0, 300.5});
  const double high = draft.rng().Pick({1000.0, 2000.25, 4000.0});
  return draft.One(
      row.op, row.version,
      {Scalar(draft, draft.rng().Between(1, 9)), Scalar(draft, draft.rng().Between(4, 64)),
       Scalar(draft, rate), draft.Constant(dtype, {}, {low}), draft.Constant(dtype, {}, {high})},
      {AnyOutput(draft)});
}

const Row kSignalRows[] = {
    {"headrace.grad.FourierTransform", 1, FourierTransform},
    {"DFT", 17, Dft, kFloats, 0, 0, 3},
    {"DFT", 20, Dft, kFloats, 0, 0, 3},
    {"STFT", 17, Stft, kFloats, 0, 0, 3},
    {"HannWindow", 17, Window},
    {"HammingWindow", 17, Window},
    {"BlackmanWindow", 17, Window},
    {"MelWeightMatrix", 17, Mel},
};

}  // namespace

std::span<const Row> SignalRows() { return kSignalRows; }

}  // namespace hr::random_graphs
