// Attention over heads, found in graphs and run block by block, against the reference's MatMul and
// Softmax, forward and backward.
#include <limits>

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
  bool turned = true;  // operands are [batch, rows, heads, features], as products of tokens are
  bool gradients = true;
  bool mask_gradient = false;
  bool keeps_probabilities = false;  // as an output
  int64_t batch = 2, head_count = 3, queries = 5, keys = 7, size = 4, value_size = 3;
};

class AttentionTest : public KernelTest {
 protected:
  template <typename T>
  void Check(const Form& form, bool found);
  Form RandomForm();
  // Half of them true, and in some rows all or none.
  Tensor Bools(const Dims& dims);
  Dims RandomMask(const Form& form);
};

template <typename T>
class Graph {
 public:
  Graph(const Form& form, ops::OpRegistry& registry)
      : form_(form), builder_(SystemAllocator(), registry) {
    const ValueId q = Operand(form.queries, form.size), k = Operand(form.keys, form.size);
    const ValueId v = Operand(form.keys, form.value_size);
    const ValueId factor = Number({}, 1.7);
    ValueId left = Heads(q), right = Turned(k);
    if (form.scaled_q) left = Apply("Mul", {left, Number({1}, 0.8)});
    if (form.scaled_k) right = Apply("Mul", {Number({}, 0.6), right});
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
    const T numbers[] = {static_cast<T>(number)};
    return builder_.Constant(MakeTensor<T>(SystemAllocator(), dims, std::span(numbers)).value())
        .value();
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
  ValueId Input(const Dims& dims, DType dtype = DTypeOf<T>::value) {
    const ValueId id =
        builder_.AddInput(Cat("x", request.feeds.size()), graph::ValueType::Tensor(dtype, dims))
            .value();
    request.feeds.push_back({id, dtype, dims});
    return id;
  }
  ValueId Operand(int64_t rows, int64_t features) {
    if (!form_.heads) return Input({form_.batch, rows, features});
    if (!form_.turned) return Input({form_.batch, form_.head_count, rows, features});
    return Input({form_.batch, rows, form_.head_count, features});
  }
  ValueId Heads(ValueId x) { return form_.heads && form_.turned ? Transposed(x, {0, 2, 1, 3}) : x; }
  ValueId Turned(ValueId k) {
    if (!form_.heads) return Transposed(k, {0, 2, 1});
    return Transposed(
        k, form_.turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 1, 3, 2});
  }

  const Form& form_;
  transform::GraphBuilder builder_;
};

template <typename T>
void AttentionTest::Check(const Form& form, bool found) {
  ops::OpRegistry registry;
  Graph<T> graph(form, registry);
  const graph::Module module =
      transform::Specialize(registry, graph.Finish(), graph.request, nullptr, SystemAllocator())
          .value();
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
  // The gradient transposes what it scales itself.
  const bool transposed = !found || (form.gradients && (form.scaled_q || form.scaled_k));
  EXPECT_TRUE(transposed || plan.find("transpose") == std::string::npos) << plan;
  auto invocation = executable->Instantiate().value();
  std::map<ValueId, reference::Array> feeds;
  std::vector<Tensor> inputs, outputs;
  for (const transform::Feed& feed : graph.request.feeds) {
    inputs.push_back(feed.dtype == DType::kBool
                         ? Bools(feed.dims)
                         : OneNodeRun::Make<T>(feed.dims, Random<T>(ElementCount(feed.dims))));
    feeds[module.main().inputs[inputs.size() - 1]] = reference::FromTensor(inputs.back());
  }
  std::vector<ValueId> fetches;
  for (const graph::Port& port : module.signatures[0].outputs) {
    const Dims dims = *module.main().values[port.value].type.FixedDims();
    outputs.push_back(Tensor::Create(SystemAllocator(), DTypeOf<T>::value, dims).value());
    fetches.push_back(port.value);
  }
  uint32_t slot = 0;
  for (const Tensor& tensor : inputs) invocation->Bind(slot++, tensor.data());
  for (const Tensor& constant : module.constants) invocation->Bind(slot++, constant.data());
  for (const Tensor& tensor : outputs) invocation->Bind(slot++, tensor.data());
  ASSERT_TRUE(invocation->Run({.threads = three_}).ok());
  const auto expected = reference::Evaluator(module).Run(feeds, fetches);
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  const double error = sizeof(T) == 4 ? 2e-5 : 1e-13;
  for (size_t i = 0; i < fetches.size(); ++i) {
    ASSERT_EQ(reference::Difference(outputs[i], (*expected)[i], error, error), "")
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
            .gradients = chance(),
            .batch = RandomInt(3, 4),
            .head_count = RandomInt(1, 3),
            .queries = RandomInt(1, 40),
            .keys = RandomInt(1, 70),
            .size = RandomInt(1, 35),
            .value_size = RandomInt(1, 35)};
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
                 << form.heads << " turned " << form.turned << " gradients " << form.gradients
                 << MasksText(form) << " filled with " << form.fill << " nan is zero "
                 << form.nan_is_zero << " of " << form.batch << "x" << form.head_count << "x"
                 << form.queries << "x" << form.keys << " by " << form.size << ", "
                 << form.value_size);
    Check<float>(form, true);
    Check<double>(form, true);
  }
}

// Rows of which nothing is seen are NaN, or what the graph makes of that.
TEST_P(AttentionTest, RowsOfNothing) {
  for (const bool nan_is_zero : {false, true}) {
    for (const char* op : {"WhereTrue", "WhereFalse"}) {
      Check<float>({.masks = {{op, {1, 1, 40, 1}}},
                    .nan_is_zero = nan_is_zero,
                    .gradients = false,
                    .queries = 40},
                   true);
    }
  }
}

// Queries of one head are cut into blocks, over which the gradients of keys are added up.
TEST_P(AttentionTest, ManyBlocks) {
  Form form{.scale = "Div", .queries = 150, .keys = 700};
  Check<float>(form, true);
  form.masks = {{"Add", {150, 700}}};
  Check<double>(form, true);
  form.batch = form.head_count = 1;  // shared by its queries
  form.gradients = false;
  form.masks.push_back({"WhereTrue", {150, 700}});
  Check<float>(form, true);
}

TEST_P(AttentionTest, LeavesWhatOthersNeed) {
  Check<float>({.scale = "Mul", .keeps_probabilities = true}, false);
  Check<float>({.scale = "Mul", .masks = {{"Add", {5, 7}}}, .mask_gradient = true}, false);
  Check<float>({.gradients = false, .keeps_probabilities = true}, false);
  Check<float>({.nan_is_zero = true, .gradients = false, .keeps_probabilities = true}, false);
  Check<float>({.masks = {{"WhereTrue", {5, 7}}}}, false);  // with its gradient
}

HR_KERNEL_TESTS(AttentionTest);

}  // namespace
}  // namespace hr::cpu
