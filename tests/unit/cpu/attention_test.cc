// Attention over heads, found in graphs and run block by block, against the reference's MatMul and
// Softmax, forward and backward.
#include <limits>

#include "runtime/base/half.h"
#include "runtime/transform/gradients.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using graph::ValueId;

// What is done to scores: a mask that is added, or one of bool.
struct MaskForm {
  std::string op;  // "Add", "WhereTrue" or "WhereFalse": where scores become a number
  Dims dims;
};

// How a graph writes attention.
struct Form {
  std::string scale;                        // the operator, or ""
  bool scaled_q = false, scaled_k = false;  // these are multiplied, k behind its transposition
  std::vector<MaskForm> masks;
  double fill = -std::numeric_limits<double>::infinity();  // of masks of bool
  bool nan_is_zero = false;                                // rows that are NaN become zeros
  bool heads = true;                                       // rank 4, else 3
  bool turned = true;    // operands are [batch, rows, heads, features], as products of tokens are
  bool grouped = false;  // rank 5, where keys and values are broadcast along the third axis
  bool keys_in_columns = false;  // k is [batch, heads, features, rows] or [batch, features, rows]
  bool gradients = true;
  bool mask_gradient = false;
  bool keeps_probabilities = false;  // as an output
  int64_t batch = 2, head_count = 3, queries = 5, keys = 7, size = 4, value_size = 3;
  int64_t groups = 2;
};

bool IsNarrow(DType dtype) { return DTypeSize(dtype) == 2; }

// Each number rounded to the type.
Tensor TensorOf(DType dtype, const Dims& dims, const std::vector<double>& numbers) {
  Tensor out = Tensor::Create(SystemAllocator(), dtype, dims).value();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(numbers[i]);
    if (dtype == DType::kFloat64) out.as<double>()[i] = numbers[i];
    if (dtype == DType::kFloat32) out.as<float>()[i] = number;
    if (dtype == DType::kFloat16) out.as<uint16_t>()[i] = FloatToHalf(number);
    if (dtype == DType::kBfloat16) out.as<uint16_t>()[i] = FloatToBfloat16(number);
  }
  return out;
}

// Results are at most 1 in magnitude, and probabilities and they are rounded to 16 bits once.
double ErrorOf(DType dtype) {
  if (dtype == DType::kBfloat16) return 5e-3;
  if (dtype == DType::kFloat16) return 6e-4;
  return dtype == DType::kFloat32 ? 2e-5 : 1e-13;
}

class AttentionTest : public KernelTest {
 protected:
  // Graphs of 16 bits are held against those of float64 on the same operands.
  void Check(const Form& form, bool found, DType dtype = DType::kFloat32);
  Form RandomForm();
  // Half of them true, and in some rows all or none.
  Tensor Bools(const Dims& dims);
  Dims RandomMask(const Form& form);
};

class Graph {
 public:
  Graph(const Form& form, ops::OpRegistry& registry, DType dtype)
      : form_(form), dtype_(dtype), builder_(SystemAllocator(), registry) {
    const ValueId q = Operand(form.queries, form.size, form.groups), k = Keys();
    const ValueId v = Operand(form.keys, form.value_size, 1);
    const ValueId factor = Number({}, 1.75);
    ValueId left = Heads(q), right = Turned(k);
    if (form.scaled_q) left = Apply("Mul", {left, Number({1}, 0.75)});
    if (form.scaled_k) right = Apply("Mul", {Number({}, 0.625), right});
    ValueId scores = Apply("MatMul", {left, right});
    if (form.scale != "") scores = Apply(form.scale, {scores, factor});
    std::vector<ValueId> wanted = {q, k, v};
    for (const MaskForm& mask : form.masks) scores = Masked(scores, mask, &wanted);
    ValueId probabilities = Apply("Softmax", {scores});
    if (form.nan_is_zero) {
      probabilities =
          Apply("Where", {Apply("IsNaN", {probabilities}), Number({}, 0), probabilities});
    }
    ValueId out = Apply("MatMul", {probabilities, Heads(v)});
    if (form.heads && form.turned) out = Transposed(out, {0, 2, 1, 3});
    request.fetches = {out};
    if (form.keeps_probabilities) request.fetches.push_back(probabilities);
    if (!form.gradients) return;
    const ValueId dout = Input(builder_.graph().values[out].type.FixedDims().value());
    auto grads = transform::AddGradients(builder_, std::span(&out, 1), wanted, std::span(&dout, 1));
    for (ValueId grad : grads.value()) request.fetches.push_back(grad);
  }

  graph::Module Finish() { return builder_.Finish().value(); }
  transform::Request request;

 private:
  ValueId Apply(std::string op, std::initializer_list<ValueId> inputs) {
    return builder_.EmitOne("", op, inputs).value();
  }
  ValueId Transposed(ValueId x, std::vector<int64_t> perm) {
    return builder_.EmitOne("", "Transpose", {x}, {{"perm", std::span<const int64_t>(perm)}})
        .value();
  }
  ValueId Number(const Dims& dims, double number) {
    return builder_.Constant(TensorOf(dtype_, dims, {number})).value();
  }
  ValueId Masked(ValueId scores, const MaskForm& form, std::vector<ValueId>* wanted) {
    if (form.op == "Add") {
      const ValueId mask = Input(form.dims);
      if (form_.mask_gradient) wanted->push_back(mask);
      return Apply("Add", {mask, scores});
    }
    const ValueId mask = Input(form.dims, DType::kBool), fill = Number({}, form_.fill);
    if (form.op == "WhereTrue") return Apply("Where", {mask, fill, scores});
    return Apply("Where", {mask, scores, fill});
  }
  ValueId Input(const Dims& dims) { return Input(dims, dtype_); }
  ValueId Input(const Dims& dims, DType dtype) {
    const ValueId id =
        builder_.AddInput(Cat("x", request.feeds.size()), graph::ValueType::Tensor(dtype, dims))
            .value();
    request.feeds.push_back({id, dtype, dims});
    return id;
  }
  ValueId Operand(int64_t rows, int64_t features, int64_t groups) {
    if (form_.grouped) return Input({form_.batch, form_.head_count, groups, rows, features});
    if (!form_.heads) return Input({form_.batch, rows, features});
    if (!form_.turned) return Input({form_.batch, form_.head_count, rows, features});
    return Input({form_.batch, rows, form_.head_count, features});
  }
  ValueId Keys() {
    if (!form_.keys_in_columns) return Operand(form_.keys, form_.size, 1);
    Dims dims = {form_.batch, form_.size, form_.keys};
    if (form_.heads) dims.insert(dims.begin() + 1, form_.head_count);
    if (form_.grouped) dims.insert(dims.begin() + 2, 1);
    return Input(dims);
  }
  ValueId Heads(ValueId x) { return form_.heads && form_.turned ? Transposed(x, {0, 2, 1, 3}) : x; }
  ValueId Turned(ValueId k) {
    if (form_.keys_in_columns) return k;
    if (!form_.heads) return Transposed(k, {0, 2, 1});
    if (form_.grouped) return Transposed(k, {0, 1, 2, 4, 3});
    return Transposed(
        k, form_.turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 1, 3, 2});
  }

  const Form& form_;
  const DType dtype_;
  transform::GraphBuilder builder_;
};

void AttentionTest::Check(const Form& form, bool found, DType dtype) {
  ops::OpRegistry registry;
  const auto specialized = [&](Graph&& graph) {
    return transform::Specialize(registry, graph.Finish(), graph.request, nullptr,
                                 SystemAllocator())
        .value();
  };
  const DType judged = IsNarrow(dtype) ? DType::kFloat64 : dtype;
  const graph::Module module = specialized(Graph(form, registry, dtype));
  const graph::Module judge = specialized(Graph(form, registry, judged));
  const auto backend = CreateTestedBackend();
  const auto executable = backend->devices()[0]
                              ->Compile(module, {.allocator = &SystemAllocator(),
                                                 .operators = &registry,
                                                 .threads = static_cast<int>(RandomInt(1, 3)),
                                                 .check_memory = true})
                              .value();
  const std::string plan = executable->Describe();
  const bool has = plan.find("attention") != std::string::npos;
  EXPECT_EQ(has, found) << plan;
  // The gradient transposes what it scales itself, and what it has added up over groups.
  const bool transposed =
      !found || (form.gradients && (form.scaled_q || form.scaled_k || form.grouped));
  EXPECT_TRUE(transposed || plan.find("transpose") == std::string::npos) << plan;
  auto invocation = executable->Instantiate().value();
  std::map<ValueId, reference::Array> feeds;
  std::vector<Tensor> inputs, outputs;
  for (ValueId input : module.main().inputs) {
    const graph::ValueType& type = module.main().values[input].type;
    const Dims dims = *type.FixedDims();
    inputs.push_back(type.dtype == DType::kBool
                         ? Bools(dims)
                         : TensorOf(dtype, dims, Random<double>(ElementCount(dims))));
    reference::Array& feed = feeds[judge.main().inputs[inputs.size() - 1]];
    feed = reference::FromTensor(inputs.back());
    if (type.dtype == dtype) feed.dtype = judged;
  }
  std::vector<ValueId> fetches;
  for (size_t i = 0; i < module.signatures[0].outputs.size(); ++i) {
    const ValueId output = module.signatures[0].outputs[i].value;
    const Dims dims = *module.main().values[output].type.FixedDims();
    outputs.push_back(Tensor::Create(SystemAllocator(), dtype, dims).value());
    fetches.push_back(judge.signatures[0].outputs[i].value);
  }
  uint32_t slot = 0;
  for (const Tensor& tensor : inputs) invocation->Bind(slot++, tensor.data());
  for (const Tensor& constant : module.constants) invocation->Bind(slot++, constant.data());
  for (const Tensor& tensor : outputs) invocation->Bind(slot++, tensor.data());
  ASSERT_TRUE(invocation->Run({.threads = three_}).ok());
  const auto expected = reference::Evaluator(judge).Run(feeds, fetches);
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  for (size_t i = 0; i < fetches.size(); ++i) {
    const reference::Array got = reference::FromTensor(outputs[i]);
    const Tensor wide = TensorOf(judged, got.dims, {got.data.begin(), got.data.end()});
    ASSERT_EQ(reference::Difference(wide, (*expected)[i], ErrorOf(dtype), ErrorOf(dtype)), "")
        << "output " << i;
  }
}

Tensor AttentionTest::Bools(const Dims& dims) {
  Tensor out = Tensor::Create(SystemAllocator(), DType::kBool, dims).value();
  const int64_t row = dims.back();
  for (int64_t i = 0; i < out.elements(); i += row) {
    const int64_t kind = RandomInt(0, 3);
    for (int64_t j = 0; j < row; ++j) {
      out.as<uint8_t>()[i + j] = kind < 2 ? RandomInt(0, 1) == 1 : kind == 2;
    }
  }
  return out;
}

// Of any rank that the scores have or less, and broadcast along some axes.
Dims AttentionTest::RandomMask(const Form& form) {
  Dims dims = {form.batch, form.head_count, form.queries, form.keys};
  if (!form.heads) dims.erase(dims.begin() + 1);
  if (form.grouped) dims.insert(dims.begin() + 2, form.groups);
  dims.erase(dims.begin(), dims.begin() + RandomInt(0, 2));
  for (int64_t& size : dims) size = RandomInt(0, 1) == 0 ? 1 : size;
  return dims;
}

Form AttentionTest::RandomForm() {
  const char* scales[] = {"", "Mul", "Div"};
  const auto chance = [&] { return RandomInt(0, 1) == 1; };
  Form form{.scale = scales[RandomInt(0, 2)],
            .scaled_q = chance(),
            .scaled_k = chance(),
            .heads = RandomInt(0, 3) != 0,
            .turned = chance(),
            .keys_in_columns = RandomInt(0, 3) == 0,
            .gradients = chance(),
            .batch = RandomInt(3, 4),
            .head_count = RandomInt(1, 3),
            .queries = RandomInt(1, 40),
            .keys = RandomInt(1, 70),
            .size = RandomInt(1, 35),
            .value_size = RandomInt(1, 35)};
  if (form.heads && !form.turned) form.grouped = chance();
  if (!form.gradients) {
    form.batch = RandomInt(1, 3);
    form.nan_is_zero = chance();
    if (chance()) form.fill = -3;
  }
  const char* ops[] = {"Add", "WhereTrue", "WhereFalse"};
  for (int64_t count = RandomInt(0, 2); count > 0; --count) {
    form.masks.push_back({ops[form.gradients ? 0 : RandomInt(0, 2)], RandomMask(form)});
  }
  return form;
}

std::string MasksText(const Form& form) {
  std::string text;
  for (const MaskForm& mask : form.masks) text += Cat(" ", mask.op, ShapeText(mask.dims));
  return text;
}

TEST_P(AttentionTest, AnyForm) {
  for (int round = 0; round < Rounds(25) && !HasFailure(); ++round) {
    const Form form = RandomForm();
    SCOPED_TRACE(testing::Message()
                 << form.scale << " q " << form.scaled_q << " k " << form.scaled_k << " heads "
                 << form.heads << " turned " << form.turned << " grouped " << form.grouped
                 << " columns " << form.keys_in_columns << " gradients " << form.gradients
                 << MasksText(form) << " filled with " << form.fill << " nan is zero "
                 << form.nan_is_zero << " of " << form.batch << "x" << form.head_count << "x"
                 << form.queries << "x" << form.keys << " by " << form.size << ", "
                 << form.value_size);
    Check(form, true);
    Check(form, true, DType::kFloat64);
    if (form.gradients) continue;
    Check(form, true, DType::kBfloat16);
    Check(form, true, DType::kFloat16);
  }
}

// Rows of which nothing is seen are NaN, or what the graph makes of that.
TEST_P(AttentionTest, RowsOfNothing) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {
    for (const bool nan_is_zero : {false, true}) {
      for (const char* op : {"WhereTrue", "WhereFalse"}) {
        Check({.masks = {{op, {1, 1, 40, 1}}},
               .nan_is_zero = nan_is_zero,
               .gradients = false,
               .queries = 40},
              true, dtype);
      }
    }
  }
}

// Queries of one head are cut into blocks, over which the gradients of keys are added up.
TEST_P(AttentionTest, ManyBlocks) {
  Form form{.scale = "Div", .queries = 150, .keys = 700};
  Check(form, true);
  form.masks = {{"Add", {150, 700}}};
  Check(form, true, DType::kFloat64);
  form.batch = form.head_count = 1;  // shared by its queries
  form.gradients = false;
  form.masks.push_back({"WhereTrue", {150, 700}});
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {
    Check(form, true, dtype);
    form.head_count = 4;
  }
}

TEST_P(AttentionTest, LeavesWhatOthersNeed) {
  Check({.scale = "Mul", .keeps_probabilities = true}, false);
  Check({.scale = "Mul", .masks = {{"Add", {5, 7}}}, .mask_gradient = true}, false);
  Check({.gradients = false, .keeps_probabilities = true}, false);
  Check({.nan_is_zero = true, .gradients = false, .keeps_probabilities = true}, false);
  Check({.masks = {{"WhereTrue", {5, 7}}}}, false);  // with its gradient
  Check({.gradients = false, .keeps_probabilities = true}, false, DType::kBfloat16);
}

HR_KERNEL_TESTS(AttentionTest);

}  // namespace
}  // namespace hr::cpu
