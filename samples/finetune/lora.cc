// Teaches MiniLM (Apache-2.0, from its package) which of some texts a few words are from, by
// low-rank adapters alone: its weights stay as they are. The adapters become a small file of their
// own, and, added to the weights, a model like MiniLM.
//
//   finetune_lora --model MODEL.hrg --vocabulary vocab.txt --out FOLDER [--steps N] [--json]
//   TEXT...
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include <headrace/headrace.hpp>

#include "../search/embedder.h"
#include "arguments.h"
#include "pieces.h"

namespace {

namespace fs = std::filesystem;

// The most tokens of a piece: all batches have this length, so one plan serves them.
constexpr size_t kTokens = 32;
constexpr size_t kBatch = 16;
constexpr double kSharpness = 20;

struct Options {
  std::string model, vocabulary, out;
  std::vector<std::string> texts;
  int64_t steps = 80;
  bool json = false;
};

const char kUsage[] =
    "usage: finetune_lora --model MODEL.hrg --vocabulary vocab.txt --out FOLDER [--steps N] "
    "[--json] "
    "TEXT...\n\n"
    "  TEXT...    two files or more: which of them are some words from?\n"
    "  --steps N  batches to learn from (default 80)\n"
    "  --json     one object with all numbers\n\n"
    "samples/finetune/run gets model and vocabulary, and calls it with them.\n";

Options parsed(int argc, char** argv) {
  Options out;
  parse(argc, argv,
        {kUsage,
         {{"--model", &out.model}, {"--vocabulary", &out.vocabulary}, {"--out", &out.out}},
         {{"--steps", &out.steps}},
         {{"--json", &out.json}},
         &out.texts});
  if (out.model.empty() || out.vocabulary.empty() || out.out.empty() || out.texts.size() < 2) {
    throw std::invalid_argument("a model, a vocabulary, a folder and two texts are needed");
  }
  return out;
}

// ---- The model ----------------------------------------------------------------------------------

// A direction for each text, the mean of what MiniLM as it is makes of its pieces: [width, texts].
hr::Tensor directions(const hr::Env& env, const Embedder& embedder, const Pieces& pieces,
                      size_t kinds) {
  const std::vector<Vector> vectors = embedder.embed(pieces.texts);
  const size_t width = vectors[0].size();
  std::vector<float> out(width * kinds);
  for (size_t i = 0; i < vectors.size(); ++i) {
    for (size_t j = 0; j < width; ++j) {
      out[j * kinds + static_cast<size_t>(pieces.kinds[i])] += vectors[i][j];
    }
  }
  for (size_t kind = 0; kind < kinds; ++kind) {
    double squares = 0;
    for (size_t j = 0; j < width; ++j) squares += std::pow(out[j * kinds + kind], 2);
    for (size_t j = 0; j < width; ++j) {
      out[j * kinds + kind] /= static_cast<float>(std::sqrt(squares));
    }
  }
  return hr::Tensor::copy_of(env, {static_cast<int64_t>(width), static_cast<int64_t>(kinds)}, out);
}

// MiniLM, and the signature "classify": how close a piece's direction is to that of each text.
hr::Graph classifier(const hr::Env& env, const std::string& model, const hr::Tensor& directions) {
  hr::Graph graph(hr::Model::load(env, model));
  const hr_value embeddings = add_embeddings(graph, "infer", "classify");
  const hr_value close = graph.op("MatMul", {embeddings, graph.constant(directions)});
  const hr_value sharpness = graph.op("Constant", {}, "value_float=" + std::to_string(kSharpness));
  graph.signature_output("classify", "scores", graph.op("Mul", {close, sharpness}));
  return graph;
}

// Adapters, and the signature "train", which has the inputs of "classify" and the labels.
void add_training(hr::Graph& graph, int64_t steps) {
  graph.add_lora("*.query.weight,*.value.weight,*.dense.weight", "rank=8 alpha=16");
  const hr_signature_info from = graph.signature(graph.find_signature("classify"));
  std::vector<std::pair<std::string, hr_value>> inputs;
  for (size_t i = 0; i < from.input_count; ++i) {
    inputs.emplace_back(from.input_names[i], from.inputs[i]);
  }
  const hr_value scores = from.outputs[1];
  const hr_value labels = graph.input("labels", HR_INT64, {-1}, {"batch"});
  const hr_value loss = graph.op("SoftmaxCrossEntropyLoss", {scores, labels});
  for (const auto& [name, value] : inputs) graph.signature_input("train", name, value);
  graph.signature_input("train", "labels", labels);
  graph.signature_output("train", "loss", loss);
  const hr_value rate = graph.schedule("train", "cosine base=0.002 steps=" + std::to_string(steps) +
                                                    " warmup=" + std::to_string(steps / 10));
  graph.minimize("train", loss, "adam clip_global_norm=1", rate);
}

// ---- The work -----------------------------------------------------------------------------------

class Learner {
 public:
  Learner(const hr::Env& env, const Options& options)
      : env_(env), options_(options), tokenizer_(options.vocabulary) {}

  Batch batch(const Pieces& pieces, const std::vector<size_t>& which) const {
    std::vector<std::vector<int64_t>> tokens;
    for (size_t i : which) tokens.push_back(tokenizer_.tokens(pieces.texts[i], kTokens));
    return Batch(env_, tokens, kTokens);
  }

  void train(const hr::Session& session, const Pieces& pieces) const {
    std::mt19937 random(1);
    std::vector<size_t> order;
    hr::Call step(session, "train");
    hr::Tensor labels(env_, HR_INT64, {static_cast<int64_t>(kBatch)});
    float loss = 0;
    step.bind("labels", labels).output("loss", &loss, sizeof loss);
    hr::Progress progress("learning", "pieces", 0, options_.steps);
    for (int64_t i = 0; i < options_.steps; ++i) {
      std::vector<size_t> which;
      while (which.size() < kBatch) which.push_back(next(order, pieces.texts.size(), random));
      for (size_t j = 0; j < kBatch; ++j) labels.data<int64_t>()[j] = pieces.kinds[which[j]];
      batch(pieces, which).bind(step);
      step.run();
      progress.update(i + 1, static_cast<int64_t>(kBatch), "loss", loss);
    }
  }

  // A row for each piece.
  std::vector<float> scores(const hr::Session& session, const Pieces& pieces) const {
    std::vector<float> out;
    hr::Call call(session, "classify");
    for (size_t first = 0; first < pieces.texts.size(); first += kBatch) {
      std::vector<size_t> which;
      for (size_t i = first; i < std::min(first + kBatch, pieces.texts.size()); ++i) {
        which.push_back(i);
      }
      batch(pieces, which).bind(call);
      call.run();
      const hr::Tensor rows = call.result("scores");
      out.insert(out.end(), rows.data<float>(), rows.data<float>() + rows.elements());
    }
    return out;
  }

 private:
  // Each piece once, in another order, and again.
  static size_t next(std::vector<size_t>& order, size_t count, std::mt19937& random) {
    if (order.empty()) {
      for (size_t i = 0; i < count; ++i) order.push_back(i);
      for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    }
    const size_t out = order.back();
    order.pop_back();
    return out;
  }

  const hr::Env& env_;
  const Options& options_;
  Tokenizer tokenizer_;
};

double accuracy(const std::vector<float>& scores, const std::vector<int64_t>& kinds) {
  const auto width = static_cast<std::ptrdiff_t>(scores.size() / kinds.size());
  size_t right = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i) * width;
    right += std::max_element(row, row + width) - row == kinds[i] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(kinds.size());
}

// The largest difference, in units of the largest score.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    scale = std::max(scale, std::abs(static_cast<double>(a[i])));
  }
  return most / scale;
}

// How many of the base's weights a session has with other bits.
size_t changed(const hr::Session& session, const hr::Session& base) {
  size_t out = 0;
  for (const std::string& name : base.variables()) {
    const hr::Tensor now = session.variable(name), before = base.variable(name);
    out += std::memcmp(hr_tensor_data(now.get()), hr_tensor_data(before.get()), before.bytes()) != 0
               ? 1
               : 0;
  }
  return out;
}

struct Result {
  size_t train, test, changed;
  double before, after, loaded;
  double loaded_difference,
      difference;  // of the scores with loaded adapters, and of the merged model
  std::string adapters, merged;
};

void save(const hr::Session& session, Result& result) {
  session.save_adapters(result.adapters);
  hr_save_options merge{};
  merge.struct_size = sizeof merge;
  merge.merge_adapters = 1;
  session.save_model(result.merged, {"infer", "classify"}, &merge);
}

Result run(const Options& options) {
  const Task task = read_pieces(options.texts);
  const hr::Env env;
  const Learner learner(env, options);
  const hr::Tensor texts = directions(env, Embedder(env, options.model, options.vocabulary),
                                      task.train, options.texts.size());
  const hr::Session base(hr::Model(classifier(env, options.model, texts)));
  hr::Graph graph = classifier(env, options.model, texts);
  add_training(graph, options.steps);
  const hr::Session session(hr::Model(std::move(graph)), 1);
  Result out{};
  out.train = task.train.texts.size();
  out.test = task.test.texts.size();
  out.before = accuracy(learner.scores(base, task.test), task.test.kinds);
  learner.train(session, task.train);
  const std::vector<float> scores = learner.scores(session, task.test);
  out.after = accuracy(scores, task.test.kinds);
  out.changed = changed(session, base);

  fs::create_directories(options.out);
  out.adapters = options.out + "/adapters.safetensors";
  out.merged = options.out + "/merged.hrg";
  save(session, out);
  hr::Graph again = classifier(env, options.model, texts);
  again.load_adapters(out.adapters);
  const hr::Session loaded(hr::Model(std::move(again)));
  const std::vector<float> scores_again = learner.scores(loaded, task.test);
  out.loaded = accuracy(scores_again, task.test.kinds);
  out.loaded_difference = difference(scores, scores_again);
  const hr::Session merged(hr::Model::load(env, out.merged));
  out.difference = difference(scores, learner.scores(merged, task.test));
  return out;
}

void print(const Options& options, const Result& result) {
  if (options.json) {
    std::printf("%s\n", nlohmann::json{{"train", result.train},
                                       {"test", result.test},
                                       {"before", result.before},
                                       {"after", result.after},
                                       {"loaded", result.loaded},
                                       {"loaded_difference", result.loaded_difference},
                                       {"changed", result.changed},
                                       {"difference", result.difference},
                                       {"adapters", result.adapters},
                                       {"merged", result.merged}}
                            .dump()
                            .c_str());
    return;
  }
  std::printf(
      "MiniLM as it is:        %5.2f %% of %zu test pieces are told right, of %zu texts\n"
      "with adapters:          %5.2f %%, %zu of MiniLM's own weights have changed\n"
      "adapters loaded again:  %5.2f %%  (%s, %.1f MB)\n"
      "merged:                 scores within %.1e of those with adapters  (%s, %.1f MB)\n",
      100 * result.before, result.test, options.texts.size(), 100 * result.after, result.changed,
      100 * result.loaded, result.adapters.c_str(),
      static_cast<double>(fs::file_size(result.adapters)) / 1e6, result.difference,
      result.merged.c_str(), static_cast<double>(fs::file_size(result.merged)) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("finetune_lora", kUsage, [&] {
    const Options options = parsed(argc, argv);
    print(options, run(options));
  });
}
