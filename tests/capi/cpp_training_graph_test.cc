// The C++ wrappers of headrace/training_graph.h, in C++17: a model that goes through all of them.
#include <cmath>

#include "cpp_support.h"

namespace {

// The network of cpp_support.h without its updates.
hr::Graph untrained(const hr::Env& env) {
  hr::Graph graph = network(env);
  graph.remove_signature("train");
  graph.prune();
  return graph;
}

void prepare_step(hr::Graph& graph) {
  const hr_signature_info eval = graph.signature(graph.find_signature("eval"));
  const hr_value loss = graph.find_value("y"), x = eval.inputs[0], target = eval.inputs[1];
  const hr_value error = graph.op("Sub", {loss, target});
  const hr_value mean = graph.op("ReduceMean", {graph.op("Mul", {error, error})}, "keepdims=0");
  graph.signature_input("train", "x", x).signature_input("train", "target", target);
  graph.signature_output("train", "loss", mean);
  const hr_value rate = graph.schedule("train", "cosine base=0.1 warmup=5 steps=400");
  graph.minimize(
      "train", mean,
      {{"*/bias", "sgd momentum=0.9", rate}, {"*", "adam clip_global_norm=1 average=0.9", rate}});
}

void test_a_step(hr_env*) {
  const Folder folder;
  const hr::Env env(2);
  hr::Graph graph = untrained(env);
  throws([&] { graph.set_trainable("hiden/*", false); }, HR_NOT_FOUND, "'hiden/*'");
  EXPECT(graph.set_trainable("*/bias", true) == 2);
  prepare_step(graph);
  graph.average_signature("eval", "eval of averages");
  graph.swap_averages("swap");
  const hr_value y = graph.find_value("y");
  graph.metric("eval", "mean output", "mean", {y});
  std::vector<hr_value> gradients = {y, HR_NONE};
  const hr_value norm = graph.clip("norm=1", gradients);
  EXPECT(gradients[0] != y && gradients[1] == HR_NONE && graph.type_of(norm) == "float32[]");
  hr::Session session{hr::Model(graph)};
  const hr::Dataset data = batches(env, 100), test = batches(env, 1);
  hr::TrainOptions options;
  std::vector<double> losses;
  options.train_data = &data;
  options.eval_data = &test;
  options.eval_steps = 100;
  options.checkpoint_directory = folder / "checkpoints";
  options.best_metric = "loss";
  options.best_is_smallest = options.restore_best = true;
  options.patience = 3;
  options.on_evaluate = [&](const hr_train_report&, const auto& metrics) {
    EXPECT(metrics.size() == 2 && metrics[1].first == "mean output");
    losses.push_back(metrics[0].second);
  };
  const hr_train_report report = hr::train(session, options);
  EXPECT(losses.size() == 4 && report.step == 400 && report.learning_rate < 1e-5);
  double least = losses[0];
  for (double loss : losses) least = std::min(least, loss);
  EXPECT(report.best == least && session.step() == report.best_step);
  EXPECT(has(hr::evaluate_metrics(session, batches(env, 1)), "\"mean output\":"));
  EXPECT(hr::evaluate(session, batches(env, 1), "eval of averages").evaluation_loss < losses[0]);
  options.on_evaluate = [&](const hr_train_report&, const auto&) -> void {
    throw std::out_of_range("enough");
  };
  hr::Dataset more = batches(env, 1);
  options.train_data = &more;
  options.checkpoint_directory = "";
  options.restore_best = false;
  options.eval_steps = 1;
  try {
    hr::train(session, options);
    EXPECT(false);
  } catch (const std::out_of_range&) {
  }
}

void test_adapters(hr_env*) {
  const Folder folder;
  const hr::Env env(2);
  untrained(env).save(folder / "base.hrg");
  const hr::Model base = hr::Model::load(env, folder / "base.hrg");
  hr::Graph graph(base);
  graph.copy_signature("infer", "forward");
  EXPECT(graph.add_lora("hidden/*", "rank=2 dropout=0.25", "forward") == 2);
  hr::Session session{hr::Model(graph)};
  session.save_adapters(folder / "adapters");
  hr::Graph other(base);
  EXPECT(other.load_adapters(folder / "adapters") == 1);
  hr::Session loaded{hr::Model(other)};
  loaded.load_adapters(folder / "adapters");
  EXPECT(floats(loaded.variable("hidden/weight/lora_A")) ==
         floats(session.variable("hidden/weight/lora_A")));
  const hr_value y = other.find_value("y");
  other.replace(y, other.op("Neg", {y}));
  const hr_signature_info infer = other.signature(other.find_signature("infer"));
  EXPECT(infer.outputs[0] != y);
}

}  // namespace

const test tests[] = {{"a step", test_a_step}, {"adapters", test_adapters}, {nullptr, nullptr}};
