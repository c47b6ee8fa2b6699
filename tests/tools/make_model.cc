// tools_make_model FOLDER: writes small graph files for the tests of the headrace command.
//   mlp.hrg       a classifier of 4×4 images with the signatures infer, train and eval
//   stripped.hrg  the same without names, its tensors in stripped.bin
//   mirrored.hrg  the same, whose training communicates in the group "workers"
//   types.hrg     "float32" and so on give back a tensor of that type; "silent" gives nothing
//   renamed.hrg   mlp.hrg whose inputs are called x and y
//   custom.hrg    "run" applies an operator that only this program knows
#include <cstdio>
#include <headrace/headrace.hpp>
#include <string>

namespace {

void AddTraining(hr::Graph& graph, hr_value x, hr_value y, const char* x_name, const char* y_name) {
  hr_value rate = graph.input("learning_rate", HR_FLOAT32, {});
  hr_value hidden = graph.op("Relu", {graph.dense("fc1", x, 16)});
  hr_value logits = graph.dense("fc2", hidden, 4);
  hr_value loss = graph.op("SoftmaxCrossEntropyLoss", {logits, y});
  hr_value best = graph.op("ArgMax", {logits}, "axis=1 keepdims=0");
  hr_value right = graph.op("Cast", {graph.op("Equal", {best, y})}, "to=1");
  hr_value correct = graph.op("ReduceSum", {right}, "keepdims=0");
  for (const char* signature : {"train", "eval"}) {
    graph.signature_input(signature, x_name, x).signature_input(signature, y_name, y);
    graph.signature_output(signature, "loss", loss);
  }
  graph.signature_output("eval", "correct", correct);
  graph.signature_input("train", "learning_rate", rate);
  graph.minimize("train", loss, "sgd momentum=0.9", rate);
  graph.signature_input("infer", x_name, x);
  graph.signature_output("infer", "scores", graph.op("Softmax", {logits}, "axis=1"));
}

void Classifier(const hr::Env& env, const std::string& folder) {
  for (bool renamed : {false, true}) {
    const char* x_name = renamed ? "x" : "images";
    const char* y_name = renamed ? "y" : "labels";
    hr::Graph graph(env);
    hr_value x = graph.input(x_name, HR_FLOAT32, {-1, 1, 4, 4}, {"batch"});
    hr_value y = graph.input(y_name, HR_INT64, {-1}, {"batch"});
    AddTraining(graph, x, y, x_name, y_name);
    hr::check(hr_graph_set_metadata(graph.get(), "author", "the tests"));
    graph.save(folder + (renamed ? "/renamed.hrg" : "/mlp.hrg"));
    if (!renamed) {
      graph.distribute("train", "workers", "mirrored");
      graph.save(folder + "/mirrored.hrg");
      continue;
    }
    hr_save_options options{};
    options.struct_size = sizeof options;
    options.strip_names = 1;
    options.side_file = "stripped.bin";
    hr::check(hr_graph_save(graph.get(), (folder + "/stripped.hrg").c_str(), &options));
  }
}

void Custom(const std::string& folder) {
  hr_operator op{};
  op.struct_size = sizeof op;
  op.name = "org.example.Twist";
  op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
  op.infer = [](void*, hr_op* node) { return hr_op_set_output_like(node, 0, 0); };
  op.compute = [](void*, hr_op*) -> hr_status* { return nullptr; };
  hr::Env env;
  env.add_operator(op);
  hr::Graph graph(env);
  hr_value x = graph.input("x", HR_FLOAT32, {3});
  graph.signature_input("run", "x", x);
  graph.signature_output("run", "y", graph.op("org.example.Twist", {graph.op("Relu", {x})}));
  graph.save(folder + "/custom.hrg");
}

void Types(const hr::Env& env, const std::string& folder) {
  hr::Graph graph(env);
  for (hr_dtype dtype : {HR_FLOAT32, HR_FLOAT64, HR_FLOAT16, HR_BFLOAT16, HR_INT8, HR_INT16,
                         HR_INT32, HR_INT64, HR_UINT8, HR_UINT16, HR_UINT32, HR_UINT64, HR_BOOL}) {
    std::string name = hr_dtype_name(dtype);
    hr_value x = graph.input("in_" + name, dtype, {-1, 3});
    graph.signature_input(name, "x", x);
    graph.signature_output(name, "y", graph.op("Identity", {x}));
    if (dtype == HR_BOOL) graph.signature_input("silent", "x", x);
  }
  graph.save(folder + "/types.hrg");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tools_make_model FOLDER\n");
    return 2;
  }
  try {
    hr::Env env(1);
    Classifier(env, argv[1]);
    Custom(argv[1]);
    Types(env, argv[1]);
  } catch (const hr::Error& error) {
    std::fprintf(stderr, "tools_make_model: %s\n", error.what());
    return 1;
  }
  return 0;
}
