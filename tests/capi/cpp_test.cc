// The C++ wrappers of everything but headrace/comm.h and headrace/train.h, in C++17.
#include <atomic>
#include <thread>

#include "cpp_support.h"

namespace {

// ---- Tensors ----

void test_tensors(hr_env*) {
  const hr::Env env(1);
  float memory[4] = {1, 2, 3, 4};
  int released = 0;
  {
    const hr::Tensor tensor =
        hr::Tensor::wrap(HR_FLOAT32, {2, 2}, memory, sizeof memory, [&] { ++released; });
    const hr::Tensor shared = tensor.share();
    EXPECT(tensor.data<float>() == memory && shared.data<float>() == memory);
    hr::DLPack managed = shared.to_dlpack();
    EXPECT(managed->dl_tensor.data == memory);
    managed->dl_tensor.ndim = 1; /* the first column */
    managed->dl_tensor.shape[0] = 2;
    const hr::Tensor column = hr::Tensor::from_dlpack(std::move(managed));
    EXPECT(!managed && column.dims() == std::vector<int64_t>{2});
    EXPECT(column.strides() == std::vector<int64_t>{2} && tensor.strides().empty());
    hr::DLPack wrong = shared.to_dlpack();
    wrong->version.major = 99;
    throws([&] { hr::Tensor::from_dlpack(std::move(wrong)); }, HR_UNIMPLEMENTED, "99");
    EXPECT(wrong != nullptr && released == 0); /* kept, and deleted here */
  }
  EXPECT(released == 1);
  throws([&] { hr::Tensor::wrap(HR_FLOAT32, {3}, memory, sizeof memory, [&] { ++released; }); },
         HR_INVALID_ARGUMENT, "needs 12 bytes, got 16");
  EXPECT(released == 1);
  std::vector<double> values = {1, 2, 3};
  const double* data = values.data();
  const hr::Tensor adopted = hr::Tensor::adopt({3}, std::move(values));
  EXPECT(adopted.data<double>() == data && adopted.dtype() == HR_FLOAT64);
}

// ---- Graphs and models ----

void test_graphs(hr_env*) {
  const Folder folder;
  const hr::Env env(1);
  hr::Graph graph(env);
  const hr_value x = graph.input("x", HR_FLOAT32, {-1, 6}, {"batch", ""});
  graph.bound("batch", 1, 4);
  const std::vector<hr_value> halves = graph.ops("Split", {x}, 2, "axis=1 num_outputs=2");
  EXPECT(graph.type_of(halves[1]) == "float32[batch, 3]" && graph.producer(x) == HR_NONE);
  const hr_variable noise =
      graph.variable("noise", HR_FLOAT32, {3}, "RandomUniform", "low=2 high=3", false);
  const hr_variable count = graph.variable("count", hr::Tensor::copy_of<float>(env, {}, {5}));
  const hr::Graph::Node sum = graph.add(
      hr::NodeSpec("Add").name("sum").device("CPU:0").input(halves[0]).input(graph.read(noise)));
  EXPECT(graph.producer(sum.outputs[0]) == sum.id);
  const hr::Tensor one = hr::Tensor::copy_of<float>(env, {}, {1});
  const hr::Graph::Node increase = graph.add(hr::NodeSpec("headrace.state.AssignAdd")
                                                 .input(graph.constant(one))
                                                 .set_int("variable", count)
                                                 .control(sum.id),
                                             0);
  graph.signature_input("count", "x", x).signature_output("count", "sum", sum.outputs[0]);
  graph.signature_target("count", increase.id);
  const hr_value three =
      graph.add(hr::NodeSpec("Constant").set_ints("value_ints", {1, 2, 3})).outputs[0];
  const hr_value half =
      graph.add(hr::NodeSpec("Constant").set_float("value_float", 0.5)).outputs[0];
  const hr_value table = graph.add(hr::NodeSpec("Constant").set_tensor("value", one)).outputs[0];
  EXPECT(graph.type_of(three) == "int64[3]" && graph.type_of(half) == "float32[]");
  EXPECT(graph.type_of(table) == "float32[]");
  throws(
      [&] {
        graph.add(hr::NodeSpec("Constant").set_strings("value_ints", {"a", "b"}));
      },
      HR_INVALID_ARGUMENT, "value_ints");
  throws([&] { graph.add(hr::NodeSpec("Relu").input(x).set_string("mode", "m")); },
         HR_INVALID_ARGUMENT, "mode");
  throws([&] { graph.add(hr::NodeSpec("Relu").input(x).set_floats("alpha", {1})); },
         HR_INVALID_ARGUMENT, "alpha");
  hr::Session session{hr::Model(graph)};
  hr::Call call(session, "count");
  call.bind("x", hr::Tensor::copy_of<float>(env, {1, 6}, {1, 2, 3, 4, 5, 6})).run();
  const float first = floats(call.result("sum"))[0];
  EXPECT(first >= 3 && first < 4 && floats(session.variable("count"))[0] == 6);
  hr_save_options options{};
  options.struct_size = sizeof options;
  options.side_file = "side.bin";
  graph.save(folder / "graph.hrg", &options);
  EXPECT(has(hr::Model::describe_file(folder / "graph.hrg"), "side.bin"));
}

void test_reading_graphs(hr_env*) {
  const hr::Env env(1);
  const hr::Graph graph{hr::Model(network(env))};
  const hr_graph_info info = graph.info();
  EXPECT(info.variable_count == 8 && info.signature_count == 3 && info.input_count == 3);
  const hr_value x = graph.find_value("x");
  const hr_value_info value = graph.value(x);
  EXPECT(value.dtype == HR_FLOAT32 && value.dims[1] == 2 && has(value.symbols[0], "batch"));
  const hr_node out = graph.find_node("out");
  const hr_node_info node = graph.node(out);
  EXPECT(has(node.op, "Gemm") && graph.producer(node.outputs[0]) == out);
  EXPECT(has(graph.attribute(out, 0).name, "transB") && graph.int_of(out, "transB") == 1);
  EXPECT(graph.float_of(out, "alpha", 0.5) == 0.5 && graph.string_of(out, "none", "a") == "a");
  EXPECT(graph.ints_of(out, "none").empty() && graph.floats_of(out, "none").empty());
  EXPECT(graph.strings_of(out, "none").empty() && !graph.tensor_of(out, "none"));
  const hr_variable weight = graph.find_variable("out/weight");
  EXPECT(graph.variable(weight).rank == 2 && graph.variable(weight).trainable);
  EXPECT(!graph.variable_tensor(weight) && !graph.value_tensor(x));
  EXPECT(graph.variable_tensor(graph.find_variable("out/weight/momentum")).elements() == 8);
  const hr_signature_info train = graph.signature(graph.find_signature("train"));
  EXPECT(train.input_count == 3 && has(train.input_names[2], "rate") && train.target_count == 4);
  throws([&] { graph.find_value("xx"); }, HR_NOT_FOUND, "no value 'xx'");
  throws([&] { graph.int_of(99, "a"); }, HR_INVALID_ARGUMENT, "node 99");
  throws([&] { graph.float_of(out, "transB"); }, HR_INVALID_ARGUMENT, "an integer, not a float");
}

void test_changing_graphs(hr_env*) {
  const hr::Env env(1);
  hr::Graph graph{hr::Model(network(env))};
  graph.remove_signature("train");
  graph.remove_signature("eval");
  graph.prune();
  EXPECT(graph.info().variable_count == 4 && graph.info().signature_count == 1);
  throws([&] { graph.remove_signature("train"); }, HR_NOT_FOUND, "'train'");
  const std::vector<hr_variable> variables = {graph.find_variable("out/bias"),
                                              graph.find_variable("hidden/bias")};
  const hr_value y = graph.find_value("y");
  const hr_value loss = graph.op("ReduceSum", {y}, "keepdims=0");
  const hr_value rate = graph.op("Constant", {}, "value_float=0.5");
  graph.set_trainable(variables[1], false);
  std::vector<hr_value> gradients = graph.variable_gradients(loss, variables);
  EXPECT(gradients[0] != HR_NONE && gradients[1] != HR_NONE);
  throws([&] { graph.apply_gradients("train", "sgd", rate, variables, gradients); },
         HR_FAILED_PRECONDITION, "'hidden/bias' is frozen");
  gradients[1] = HR_NONE;
  graph.apply_gradients("train", "sgd", rate, variables, gradients);
  bool refused = false;
  try {
    graph.apply_gradients("train", "sgd", rate, variables, {});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  EXPECT(refused);
  graph.signature_input("train", "x", graph.find_value("x"));
  const hr_variable count = graph.variable("count", hr::Tensor::copy_of<float>(env, {}, {5}));
  const hr_value one = graph.constant(hr::Tensor::copy_of<float>(env, {}, {1}));
  graph.signature_target("set", graph.assign(count, one));
  graph.signature_target("increase", graph.assign_add(count, one));
  const hr::Graph::Normalized normalized = graph.batch_norm("norm", y, true, "momentum=1");
  EXPECT(graph.batch_norm("norm", y, false).update == HR_NONE);
  graph.signature_input("normalize", "x", graph.find_value("x"));
  graph.signature_target("normalize", normalized.update);
  const hr::Session session{hr::Model(graph)};
  const Data data(env);
  const std::vector<float> before = floats(session.variable("out/bias"));
  hr::Call(session, "train").bind("x", data.x).run();
  EXPECT(floats(session.variable("out/bias"))[0] == before[0] - 0.5f * kPoints);
  hr::Call(session, "increase").run(); /* after the assignment, as it was added */
  EXPECT(floats(session.variable("count"))[0] == 2);
  hr::Call(session, "normalize").bind("x", data.x).run();
  EXPECT(floats(session.variable("norm/mean"))[0] != 0);
}

std::vector<char> bytes_of(const std::string& path) {
  std::vector<char> bytes(1 << 20);
  FILE* file = std::fopen(path.c_str(), "rb");
  EXPECT(file != nullptr);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  return bytes;
}

void test_models(hr_env*) {
  const Folder folder;
  const hr::Env env(1);
  network(env).save(folder / "network.hrg");
  const std::vector<char> bytes = bytes_of(folder / "network.hrg");
  const std::string expected = hr::Model::load(env, folder / "network.hrg").describe();
  EXPECT(has(expected, "the tests"));
  EXPECT(hr::Model::load_memory(env, bytes).describe() == expected);
  int released = 0;
  {
    alignas(64) static char memory[1 << 16]; /* tensors are used in place where they are aligned */
    EXPECT(bytes.size() <= sizeof memory);
    std::memcpy(memory, bytes.data(), bytes.size());
    const hr::Model model = hr::Model::load_memory(env, memory, bytes.size(), [&] { ++released; });
    EXPECT(model.describe() == expected && released == 0);
  }
  EXPECT(released == 1);
  bool fails = false;
  const auto read = [&](uint64_t offset, void* out, size_t size) {
    if (offset + size > 100 && fails) throw std::out_of_range("beyond the end");
    std::memcpy(out, bytes.data() + offset, size);
  };
  const hr::Model model = hr::Model::load(env, bytes.size(), read);
  EXPECT(model.describe() == expected);
  try {
    fails = true;
    hr::Model::load(env, bytes.size(), read);
    EXPECT(false);
  } catch (const std::out_of_range& error) {
    EXPECT(std::strcmp(error.what(), "beyond the end") == 0);
  }
  EXPECT(has(model.view("json"), "SGD") && !has(model.view("json", "infer"), "SGD"));
  EXPECT(has(model.view("dot", "infer"), "digraph"));
  throws([&] { model.view("json", "", 99); }, HR_OUT_OF_RANGE, "99");
  throws([&] { hr::Model::load_memory(env, std::vector<char>(64, 'x')); }, HR_INVALID_ARGUMENT, "");
}

// ---- Sessions and calls ----

void test_calls(hr_env*) {
  const Folder folder;
  const hr::Env env(1);
  hr::Session session{hr::Model(network(env))};
  const Data data(env);
  hr::Call infer(session, Names{"x"}, Names{"y"});
  infer.bind("x", data.x).run();
  EXPECT(floats(infer.result("y")) == floats(session.run({{"x", &data.x}}, {"y"})[0]));
  EXPECT(has(infer.describe(), "steps") && has(session.describe(), "plans"));
  session.save_model(folder / "serve.hrg", {"infer"});
  hr::Session served{hr::Model::load(env, folder / "serve.hrg")};
  EXPECT(floats(served.run({{"x", &data.x}}, {"y"})[0]) == floats(infer.result("y")));
  throws([&] { hr::Call(served, "train"); }, HR_NOT_FOUND, "train");

  hr::Dataset points = batches(env, 1);
  hr::Call step(session, "train");
  step.bind(points);
  step.unbind_dataset();
  throws([&] { step.run(); }, HR_INVALID_ARGUMENT, "'x'");
  std::atomic<int> ended = 0;
  std::string failure;
  step.bind(points).bind("rate", 0.1);
  for (bool cancelled : {false, true}) {
    hr::Cancel cancel;
    if (cancelled) cancel.trigger();
    const hr_limits limits = hr::limits(0, &cancel);
    hr::Run run = step.start(&limits);
    run.on_done([&](const hr::Error* error) {
      if (error != nullptr) failure = error->what();
      ++ended;
    });
    if (!cancelled) run.wait();
    if (cancelled) throws([&] { run.wait(); }, HR_CANCELLED, "");
    while (ended % 2 == 0) std::this_thread::yield();
    EXPECT(run.test() && failure.empty() != cancelled);
    run.on_done([&, cancelled](const hr::Error* error) {
      EXPECT((error != nullptr) == cancelled);
      ++ended;
    });
    while (ended % 2 != 0) std::this_thread::yield();
  }
  EXPECT(has(failure, "CANCELLED: "));
}

// ---- Operators ----

// factor * x, elementwise.
hr::Operator scale() {
  hr::Operator op;
  op.name = "com.example.Scale";
  op.attributes = {{"factor", HR_ATTRIBUTE_FLOAT, true}, {"axes", HR_ATTRIBUTE_INTS, false}};
  op.infer = [](hr::Op node) {
    EXPECT(node.input_count() == 1 && node.output_count() == 1);
    const hr::Op::Type type = node.input_type(0);
    if (type.dtype != HR_FLOAT32) throw std::invalid_argument("Scale takes float32");
    if (!type.ranked) return node.set_output(0, type.dtype);
    EXPECT(node.get_ints("axes").empty() && node.get_int("axis", 4) == 4);
    node.set_output(0, type.dtype, type.dims);
    node.set_output_like(0, 0); /* with the names of the dimensions */
  };
  op.compute = [](hr::Op node) {
    const hr_op_tensor &in = node.input_tensor(0), &out = node.output_tensor(0);
    const float factor = static_cast<float>(node.get_float("factor"));
    const auto* x = static_cast<const float*>(in.data);
    auto* y = static_cast<float*>(out.data);
    if (x[0] == 13) throw std::domain_error("thirteen");
    node.parallel_for(static_cast<int32_t>(in.dims[0]), [&](int i) { y[i] = factor * x[i]; });
  };
  op.gradient = [](hr::Op node) {
    EXPECT(node.wants_gradient(0) && node.input(0) != node.output(0));
    const hr_value given = node.output_gradient(0);
    const hr_value factor = node.scalar(node.get_float("factor"), given);
    node.set_gradient(0, node.add("Mul", {given, factor}));
  };
  return op;
}

void test_operators(hr_env*) {
  hr::Env env(2);
  const auto token = std::make_shared<int>();
  hr::Operator op = scale();
  op.gradient = [token, gradient = op.gradient](hr::Op node) { gradient(node); };
  env.add_operator(std::move(op));
  throws([&] { env.add_operator(hr::Operator()); }, HR_INVALID_ARGUMENT, "needs a name");
  throws([&] { env.add_operator(scale()); }, HR_ALREADY_EXISTS, "Scale");
  {
    hr::Graph graph(env);
    const hr_value x = graph.input("x", HR_FLOAT32, {3});
    const hr_value y = graph.op("com.example.Scale", {x}, "factor=2.5");
    const hr_value slope = graph.gradients(graph.op("ReduceSum", {y}, "keepdims=0"), {x})[0];
    graph.name(y, "y");
    graph.name(slope, "slope");
    const hr_value count = graph.input("count", HR_INT64, {3});
    throws([&] { graph.op("com.example.Scale", {count}, "factor=1"); }, HR_UNKNOWN,
           "Scale takes float32");
    hr::Session session{hr::Model(graph)};
    const hr::Tensor given = hr::Tensor::copy_of<float>(env, {3}, {1, 2, -4});
    const std::vector<hr::Tensor> got = session.run({{"x", &given}}, {"y", "slope"});
    EXPECT((floats(got[0]) == std::vector<float>{2.5, 5, -10}));
    EXPECT((floats(got[1]) == std::vector<float>{2.5, 2.5, 2.5}));
    given.data<float>()[0] = 13;
    try {
      session.run({{"x", &given}}, {"y"});
      EXPECT(false);
    } catch (const hr::Error& error) {
      EXPECT(error.code() == HR_UNKNOWN && has(error.message(), "thirteen"));
      EXPECT(has(error.node(), "Scale"));
    }
  }
  EXPECT(token.use_count() == 2);
  env = hr::Env(1);
  EXPECT(token.use_count() == 1); /* the operator is gone with its env */
}

// ---- Envs ----

struct Host final : hr::Allocator, hr::LogSink, hr::Clock, hr::Executor {
  std::atomic<long> live{0}, allocations{0}, tasks{0}, looks{0};
  std::string said;

  void* allocate(size_t bytes, size_t alignment) noexcept override {
    void* data = nullptr;
    if (posix_memalign(&data, std::max(alignment, sizeof data), bytes + 1) != 0) return nullptr;
    ++live;
    ++allocations;
    return data;
  }
  void deallocate(void* data, size_t, size_t) noexcept override {
    --live;
    std::free(data);
  }
  void write(hr_log_level level, const char* message) noexcept override {
    if (level == HR_LOG_WARNING) said += message;
  }
  int64_t now_nanos() noexcept override { return ++looks; }
  int32_t concurrency() const noexcept override { return 3; }
  void parallel_for(int32_t count, int32_t, void (*fn)(void*, int),
                    void* context) noexcept override {
    for (int i = 0; i < count; ++i) fn(context, i);
    tasks += count;
  }
};

void test_envs(hr_env*) {
  const auto owned = std::make_shared<Host>();
  Host& host = *owned;
  {
    hr::EnvOptions options;
    options.allocator = owned;
    options.log = owned;
    options.clock = owned;
    options.executor = owned;
    EXPECT(owned.use_count() == 5);
    hr::Env env(std::exchange(options, {}));
    EXPECT(owned.use_count() == 5); /* the env keeps it */
    const int64_t size = 1 << 20;
    const hr::Tensor large(env, HR_FLOAT32, {size});
    hr::Graph graph(env);
    graph.name(graph.op("Relu", {graph.input("x", HR_FLOAT32, {size})}), "y");
    hr::Session session{hr::Model(graph)};
    const hr_limits limits = hr::limits(int64_t{1} << 60);
    session.run({{"x", &large}}, {"y"}, {}, &limits);
    hr_group_options group{};
    group.struct_size = sizeof group;
    group.size = 1;
    group.transport = "inproc";
    group.calibration = "/dev/null";
    const hr::Group alone(env, group);
    throws([&] { env.load_plugin("atlantis"); }, HR_UNAVAILABLE, "atlantis");
  }
  EXPECT(owned.use_count() == 1);
  EXPECT(host.live == 0 && host.allocations > 0 && host.tasks > 0 && host.looks > 0);
  EXPECT(has(host.said, "the calibration '/dev/null' is not used"));
}

}  // namespace

extern "C" {
extern const test tests[] = {{"tensors", test_tensors},
                             {"graphs", test_graphs},
                             {"reading graphs", test_reading_graphs},
                             {"changing graphs", test_changing_graphs},
                             {"models", test_models},
                             {"calls", test_calls},
                             {"operators", test_operators},
                             {"envs", test_envs},
                             {nullptr, nullptr}};
}
