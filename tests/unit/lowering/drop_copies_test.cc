// Results are what they are with every copy made.
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

class DroppedCopies : public QuantizedChains {
 protected:
  // Some axes of these dimensions, from the last one on.
  Dims Part(const Dims& of) {
    Dims dims(of.begin() + Between(0, static_cast<int64_t>(of.size())), of.end());
    for (int64_t& size : dims) size = Chance() ? 1 : size;
    return dims;
  }
  Dims Any() {
    Dims dims(static_cast<size_t>(Between(1, 4)));
    for (int64_t& size : dims) size = Between(0, 6);
    return dims;
  }
  ValueId Expanded(ValueId x, const Dims& dims) {
    const Dims rank = {static_cast<int64_t>(dims.size())};
    const auto shape = builder_->Constant(
        MakeTensor<int64_t>(SystemAllocator(), rank, std::span<const int64_t>(dims)).value());
    return Apply("Expand", {x, *shape});
  }
};

TEST_F(DroppedCopies, OperandsThatRepeatAnyway) {
  for (int round = 0; round < 200 && !HasFailure(); ++round, Reset()) {
    const Dims dims = Any(), from = Part(dims), other = Chance() ? dims : Part(dims);
    const ValueId x = Expanded(Fed(from, 1, 2), dims), y = Fed(other, 1, 2);
    const char* const ops[] = {"Add", "Sub", "Mul", "Div"};
    const char* const op = ops[Between(0, 3)];
    const bool gone = other == dims || from == dims;
    const ValueId to = Chance() ? Apply(op, {x, y}) : Apply(op, {y, x});
    Check(to, 0, "", gone ? "\"expand\"" : "nothing");
  }
}

TEST_F(DroppedCopies, OperandsOfOthersStayLarge) {
  const Dims dims = {3, 4}, one = {1, 4};
  const ValueId x = Expanded(Fed(one, 1, 2), dims);
  Check(Apply("Sub", {x, x}), 0, "\"expand\"", "nothing");
  Check(Apply("Mul", {x, Apply("MatMul", {x, Fed({4, 4}, 1, 2)})}), 1e-5, "\"expand\"", "nothing");
}

TEST_F(DroppedCopies, ProductsByOne) {
  const Dims dims = {5, 4};
  for (const bool expanded : {false, true}) {
    const ValueId x = Fed(dims, -1, 1), number = Constant({}, 1, 1);
    const ValueId ones = expanded ? Expanded(number, dims) : number;
    const ValueId same = Chance() ? Apply("Mul", {x, ones}) : Apply("Mul", {ones, x});
    Check(Apply("MatMul", {same, Fed({4, 3}, -1, 1)}), 1e-5, "\"matmul", "elementwise");
    Check(same, 0, "", "nothing");  // nobody but the caller takes it
  }
  const ValueId large = Apply("Mul", {Fed({4}, -1, 1), Constant({5, 1}, 1, 1)});
  Check(Apply("MatMul", {large, Fed({4, 3}, -1, 1)}), 1e-5, "elementwise", "nothing");
  const ValueId one = Apply("Mul", {Fed({4}, -1, 1), Constant({1, 1}, 1, 1)});
  Check(Apply("MatMul", {one, Fed({4, 3}, -1, 1)}), 1e-5, "", "nothing");
}

}  // namespace
}  // namespace hr::lowering
