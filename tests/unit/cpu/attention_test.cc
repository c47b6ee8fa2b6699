// Attention over heads, found in graphs and run block by block, against the reference's MatMul and
// Softmax, forward and backward.
#include "runtime/transform/gradients.h"
#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

using graph::ValueId;

// How a graph writes attention.
struct Form {
  std::string scale;   // the operator, or ""
  Dims mask;           // added to the scores, if it is not empty
  bool heads = true;   // rank 4, else 3
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
};

template <typename T>
class Graph {
 public:
  Graph(const Form& form, ops::OpRegistry& registry)
      : form_(form), builder_(SystemAllocator(), registry) {
    const ValueId q = Operand(form.queries, form.size), k = Operand(form.keys, form.size);
    const ValueId v = Operand(form.keys, form.value_size);
    ValueId scores = Apply("MatMul", {Heads(q), Turned(k)});
    const T number[] = {T(1.7)};
    const ValueId factor =
        builder_.Constant(MakeTensor<T>(SystemAllocator(), {}, std::span(number)).value()).value();
    if (form.scale != "") scores = Apply(form.scale, {scores, factor});
    std::vector<ValueId> wanted = {q, k, v};
    if (!form.mask.empty()) {
      const ValueId mask = Input(form.mask);
      if (form.mask_gradient) wanted.push_back(mask);
      scores = Apply("Add", {mask, scores});
    }
    const ValueId probabilities = Apply("Softmax", {scores});
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
  ValueId Input(const Dims& dims) {
    const DType dtype = DTypeOf<T>::value;
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
  EXPECT_TRUE(!found || plan.find("transpose") == std::string::npos) << plan;
  auto invocation = executable->Instantiate().value();
  std::map<ValueId, reference::Array> feeds;
  std::vector<Tensor> inputs, outputs;
  for (const transform::Feed& feed : graph.request.feeds) {
    inputs.push_back(OneNodeRun::Make<T>(feed.dims, Random<T>(ElementCount(feed.dims))));
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

Form AttentionTest::RandomForm() {
  const char* scales[] = {"", "Mul", "Div"};
  Form form{.scale = scales[RandomInt(0, 2)],
            .heads = RandomInt(0, 3) != 0,
            .turned = RandomInt(0, 1) == 1,
            .gradients = RandomInt(0, 1) == 1,
            .batch = RandomInt(3, 4),
            .head_count = RandomInt(1, 3),
            .queries = RandomInt(1, 40),
            .keys = RandomInt(1, 70),
            .size = RandomInt(1, 35),
            .value_size = RandomInt(1, 35)};
  const auto axis = [&](int64_t size) { return RandomInt(0, 1) == 0 ? 1 : size; };
  if (RandomInt(0, 1) == 1) form.mask = {axis(form.queries), axis(form.keys)};
  if (RandomInt(0, 1) == 1 && !form.mask.empty() && form.heads) {
    form.mask = {axis(form.batch), axis(form.head_count), form.mask[0], form.mask[1]};
  }
  return form;
}

TEST_P(AttentionTest, AnyForm) {
  for (int round = 0; round < Rounds(15) && !HasFailure(); ++round) {
    const Form form = RandomForm();
    SCOPED_TRACE(testing::Message()
                 << form.scale << " heads " << form.heads << " turned " << form.turned
                 << " gradients " << form.gradients << " mask " << ShapeText(form.mask) << " of "
                 << form.batch << "x" << form.head_count << "x" << form.queries << "x" << form.keys
                 << " by " << form.size << ", " << form.value_size);
    Check<float>(form, true);
    Check<double>(form, true);
  }
}

// Queries of one head are cut into blocks, over which the gradients of keys are added up.
TEST_P(AttentionTest, ManyBlocks) {
  Form form{.scale = "Div", .queries = 150, .keys = 700};
  Check<float>(form, true);
  form.mask = {150, 700};
  Check<double>(form, true);
  form.batch = form.head_count = 1;  // shared by its queries
  form.gradients = false;
  Check<float>(form, true);
}

TEST_P(AttentionTest, LeavesWhatOthersNeed) {
  Check<float>({.scale = "Mul", .keeps_probabilities = true}, false);
  Check<float>({.scale = "Mul", .mask = {5, 7}, .mask_gradient = true}, false);
  Check<float>({.gradients = false, .keeps_probabilities = true}, false);
}

HR_KERNEL_TESTS(AttentionTest);

}  // namespace
}  // namespace hr::cpu
