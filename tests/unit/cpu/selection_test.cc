// NonZero, Compress, Unique and NonMaxSuppression: the functions, against the reference.
#include "backends/cpu/kernels/selection.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/allocator.h"
#include "tests/reference/evaluator.h"

namespace hr::cpu {
namespace {

using reference::Array;
using Ints = std::vector<int64_t>;

class SelectionTest : public ::testing::Test {
 protected:
  int64_t RandomInt(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  // Few different numbers, NaN and zeros of both signs among those of floating types.
  Tensor Draw(DType dtype, Dims dims, int64_t low, int64_t high) {
    Array array(dtype, std::move(dims));
    for (auto& value : array.data) {
      value = static_cast<long double>(RandomInt(low, high));
      if (IsFloating(dtype) && RandomInt(0, 4) == 0) value = RandomInt(0, 1) == 0 ? NAN : -0.0L;
    }
    return reference::ToTensor(array);
  }
  std::vector<Array> Judge(const char* op, std::vector<Array> inputs, size_t outputs,
                           std::vector<graph::Attribute> attributes = {}) {
    graph::Module module;
    module.operators = {{"", op, 26}};
    graph::Node node;
    node.outputs.resize(outputs);
    node.attributes = std::move(attributes);
    std::vector<const Array*> in;
    for (const Array& input : inputs) in.push_back(&input);
    std::vector<Array> variables;
    auto got = reference::EvaluateNode(module, node, in, variables);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? std::move(got).value() : std::vector<Array>(outputs);
  }
  static Array Of(const Tensor& tensor) { return reference::FromTensor(tensor); }

  std::mt19937_64 engine_{5};
};

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                            DType::kInt8,    DType::kInt16,   DType::kInt32,   DType::kInt64,
                            DType::kUint8,   DType::kUint16,  DType::kUint32,  DType::kUint64};

// A tensor with the room of one that may be larger than what was computed.
Tensor Room(DType dtype, int64_t elements) {
  return Tensor::Create(SystemAllocator(), dtype, {elements}).value();
}

// The first elements of a room in a shape of their own.
std::string Compare(const Tensor& room, const Array& expected) {
  Array got = reference::FromTensor(room);
  if (got.data.size() < expected.data.size()) return "less room than the result takes";
  got.data.resize(expected.data.size());
  got.dims = expected.dims;
  return reference::Difference(reference::ToTensor(got), expected, 0, 0);
}

TEST_F(SelectionTest, NonZeroOfEveryType) {
  for (DType dtype : kTypes) {
    for (const Dims& dims : {Dims{}, Dims{7}, Dims{3, 4}, Dims{2, 3, 0}, Dims{2, 1, 5, 2}}) {
      const Tensor x = Draw(dtype, dims, IsFloating(dtype) ? -1 : 0, 1);
      const Tensor indices = Room(DType::kInt64, static_cast<int64_t>(dims.size()) * x.elements());
      const Array expected = Judge("NonZero", {Of(x)}, 1)[0];
      const int64_t count = NonZero(dims, dtype, x.data(), indices.as<int64_t>());
      EXPECT_EQ(count, expected.dims[1]) << DTypeName(dtype) << ShapeText(dims);
      EXPECT_EQ(Compare(indices, expected), "") << DTypeName(dtype) << ShapeText(dims);
    }
  }
}

TEST_F(SelectionTest, Unique) {
  for (int round = 0; round < 200; ++round) {
    const Dims dims = {RandomInt(1, 3), RandomInt(1, 6), RandomInt(0, 2)};
    const DType dtype = kTypes[RandomInt(0, 11)];
    const Tensor x = Draw(dtype, dims, 0, 2);
    const int64_t axis = RandomInt(-1, 1);
    const auto at = static_cast<size_t>(std::max<int64_t>(axis, 0));
    const SelectionShape shape =
        axis < 0 ? SelectionShape{1, x.elements(), 1}
                 : SelectionShape{ElementCount(std::span(dims).first(at)), dims[at],
                                  ElementCount(std::span(dims).subspan(at + 1))};
    const bool sorted = RandomInt(0, 1) == 1;
    std::vector<graph::Attribute> attributes = {{"sorted", int64_t{sorted}}};
    if (axis >= 0) attributes.push_back({"axis", axis});
    const std::vector<Array> expected = Judge("Unique", {Of(x)}, 4, attributes);
    const Tensor y = Room(dtype, x.elements());
    std::vector<Tensor> numbers;
    for (int i = 0; i < 3; ++i) numbers.push_back(Room(DType::kInt64, shape.n));
    std::vector<int64_t> scratch(UniqueScratchBytes(shape) / sizeof(int64_t));
    const UniqueOutputs outputs = {y.data(), numbers[0].as<int64_t>(), numbers[1].as<int64_t>(),
                                   numbers[2].as<int64_t>()};
    const int64_t count = Unique(shape, dtype, sorted, x.data(), outputs, scratch.data());
    ASSERT_EQ(count, expected[1].dims[0]);
    ASSERT_EQ(Compare(y, expected[0]), "") << DTypeName(dtype) << ShapeText(dims) << axis;
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(Compare(numbers[i], expected[i + 1]), "") << i;
    const UniqueOutputs none = {};
    EXPECT_EQ(Unique(shape, dtype, sorted, x.data(), none, scratch.data()), count);
  }
}

// As NumPy: NaN is one number, and the last.
TEST_F(SelectionTest, UniqueOfNan) {
  const float x[] = {NAN, 2, -INFINITY, NAN, 2};
  float y[5];
  int64_t inverse[5], scratch[10];
  EXPECT_EQ(Unique({1, 5, 1}, DType::kFloat32, true, x, {y, nullptr, inverse, nullptr}, scratch),
            3);
  EXPECT_EQ(y[0], -INFINITY);
  EXPECT_EQ(y[1], 2);
  EXPECT_NE(y[2], y[2]);
  EXPECT_EQ(Ints(inverse, inverse + 5), (Ints{2, 1, 0, 2, 1}));
}

TEST_F(SelectionTest, NonMaxSuppression) {
  for (int round = 0; round < 100; ++round) {
    const SuppressionShape shape = {RandomInt(0, 2), RandomInt(1, 3), RandomInt(0, 12),
                                    RandomInt(0, 1) == 1};
    // Numbers of few bits: areas are exact, and scores are often equal.
    Array boxes(DType::kFloat32, {shape.batches, shape.boxes, 4});
    for (auto& v : boxes.data) v = static_cast<long double>(RandomInt(0, 8));
    Array scores(DType::kFloat32, {shape.batches, shape.classes, shape.boxes});
    for (auto& v : scores.data) v = RandomInt(0, 9) == 0 ? NAN : RandomInt(0, 5) / 8.0L;
    const int64_t most = RandomInt(0, 4);
    const float overlap = static_cast<float>(RandomInt(0, 8)) / 16, least = 0.25;
    const bool limited = RandomInt(0, 1) == 1;
    std::vector<Array> inputs = {boxes, scores, Array(DType::kInt64, {1}, most),
                                 Array(DType::kFloat32, {1}, overlap)};
    if (limited) inputs.push_back(Array(DType::kFloat32, {1}, least));
    const Array expected = Judge("NonMaxSuppression", inputs, 1,
                                 {{"center_point_box", int64_t{shape.center_point_box}}})[0];
    const Tensor selected =
        Room(DType::kInt64, 3 * shape.batches * shape.classes * std::min(most, shape.boxes));
    std::vector<int64_t> scratch(SuppressionScratchBytes(shape) / sizeof(int64_t));
    const Tensor b = reference::ToTensor(boxes), s = reference::ToTensor(scores);
    const int64_t rows =
        NonMaxSuppression(shape, {most, overlap, limited ? &least : nullptr}, b.as<float>(),
                          s.as<float>(), selected.as<int64_t>(), scratch.data());
    ASSERT_EQ(rows, expected.dims[0]);
    ASSERT_EQ(Compare(selected, expected), "");
  }
}

}  // namespace
}  // namespace hr::cpu
