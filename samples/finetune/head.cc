// Gives a converted network a new head: PP-OCR's small network (Apache-2.0, from its package),
// which says whether a line of text stands upside down, learns to tell clothes apart. Its body
// stays as it is, so each image goes through it once, and only the head is trained.
//
//   finetune_head --model MODEL.hrg --out FOLDER [--features VALUE] [--data URI] [--examples N]
//                 [--epochs N] [--json]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <headrace/headrace.hpp>

#include "arguments.h"

namespace {

constexpr int64_t kSide = 28, kKinds = 10, kBatch = 64, kSeenAtOnce = 100;

struct Options {
  std::string model, out, features = "hardswish_17.tmp_0", data = "idx:fashion-mnist";
  int64_t examples = 20000, epochs = 12;
  bool json = false;
};

const char kUsage[] =
    "usage: finetune_head --model MODEL.hrg --out FOLDER [options]\n\n"
    "  --features VALUE  where the body ends (default hardswish_17.tmp_0)\n"
    "  --data URI        images of 28×28 and their labels, train and test (default "
    "idx:fashion-mnist)\n"
    "  --examples N      images to learn from (default 20000)\n"
    "  --epochs N        how often the head sees each (default 12)\n"
    "  --json            one object with all numbers\n\n"
    "samples/finetune/run gets and converts the model, and calls it with that.\n";

Options parsed(int argc, char** argv) {
  Options out;
  parse(argc, argv,
        {kUsage,
         {{"--model", &out.model},
          {"--out", &out.out},
          {"--features", &out.features},
          {"--data", &out.data}},
         {{"--examples", &out.examples}, {"--epochs", &out.epochs}},
         {{"--json", &out.json}}});
  if (out.model.empty() || out.out.empty()) {
    throw std::invalid_argument("a model and a folder for what comes out are needed");
  }
  return out;
}

// ---- The network --------------------------------------------------------------------------------

// How many numbers the body makes of an image: the file leaves the sizes of images open.
int64_t width_of(const hr::Env& env, const hr::Model& model, const std::string& input,
                 const std::string& features) {
  const hr::Session session(model);
  hr::Call call(session, std::vector<std::string>{input}, {features});
  hr::Tensor image(env, HR_FLOAT32, {1, 3, kSide, kSide});
  std::memset(image.data<float>(), 0, image.bytes());
  call.bind(input, image);
  call.run();
  return call.result(features).elements();
}

// Gray images from 0 to 1 as the body wants them: three colors from -1 to 1.
hr_value prepared(hr::Graph& graph, hr_value images) {
  const hr_value two = graph.op("Constant", {}, "value_float=2");
  const hr_value one = graph.op("Constant", {}, "value_float=1");
  const hr_value gray = graph.op("Sub", {graph.op("Mul", {images, two}), one});
  return graph.op("Concat", {gray, gray, gray}, "axis=1");
}

void add_training(hr::Graph& graph, int64_t width, int64_t steps) {
  const hr_value features = graph.input("features", HR_FLOAT32, {-1, width}, {"batch"});
  const hr_value labels = graph.input("labels", HR_INT64, {-1}, {"batch"});
  const hr_value scores = graph.dense("head", features, kKinds);  // the weights of "infer"
  const hr_value loss = graph.op("SoftmaxCrossEntropyLoss", {scores, labels});
  graph.signature_input("train", "features", features);
  graph.signature_input("train", "labels", labels);
  graph.signature_output("train", "loss", loss);
  const hr_value rate = graph.schedule("train", "cosine base=0.02 steps=" + std::to_string(steps));
  graph.minimize("train", loss, "adam", rate);
}

// Signatures: "features" (images to what the body makes of them), "infer" (images to scores), and
// "train" (features and labels to the loss).
hr::Graph with_new_head(const hr::Env& env, const Options& options, int64_t steps) {
  const hr::Model model = hr::Model::load(env, options.model);
  hr::Graph graph(model);
  const hr_signature_info old = graph.signature(graph.find_signature("infer"));
  if (old.input_count != 1) throw std::runtime_error("the model must have one input");
  const hr_value input = old.inputs[0], body = graph.find_value(options.features);
  const int64_t width = width_of(env, model, graph.value(input).name, options.features);

  graph.remove_signature("infer");  // and with it, when all is done, the old head
  if (graph.info().variable_count > 0) graph.set_trainable("*", false);  // or all are constants
  const hr_value images = graph.input("images", HR_FLOAT32, {-1, 1, kSide, kSide}, {"batch"});
  graph.replace(input, prepared(graph, images));
  const hr_value shape = graph.constant(hr::Tensor::copy_of<int64_t>(env, {2}, {-1, width}));
  const hr_value features = graph.op("Reshape", {body, shape});
  graph.signature_input("features", "images", images);
  graph.signature_output("features", "features", features);
  graph.signature_input("infer", "images", images);
  const hr_value scores = graph.dense("head", features, kKinds);
  graph.signature_output("infer", "scores", graph.op("Softmax", {scores}));
  add_training(graph, width, steps);
  graph.prune();
  return graph;
}

// ---- The data -----------------------------------------------------------------------------------

// Runs a signature over the images of a data set, no more than `most`. `done` gets what it gives
// for a batch, and the labels.
void each_batch(const hr::Env& env, const hr::Session& session, const std::string& signature,
                const std::string& output, const std::string& uri, int64_t most,
                const std::function<void(const hr::Tensor& out, const hr::Tensor& labels)>& done) {
  hr::Dataset data(env, uri + "?batch=" + std::to_string(std::min(most, kSeenAtOnce)));
  const std::vector<std::string> fields = data.fields();
  if (fields != std::vector<std::string>{"images", "labels"}) {
    throw std::runtime_error("'" + uri + "' must have the fields images and labels");
  }
  hr::Call call(session, signature);
  for (int64_t seen = 0; seen < most && !data.done();) {
    const std::vector<hr::Tensor> batch = data.next();
    call.bind("images", batch[0]);
    call.run();
    done(call.result(output), batch[1]);
    seen += batch[0].dims()[0];
  }
}

// What the body makes of the first images, in memory, and their labels.
struct Examples {
  hr::Tensor features, labels;
};

Examples examples(const hr::Env& env, const hr::Session& session, const Options& options) {
  std::vector<float> features;
  std::vector<int64_t> labels;
  hr::Progress progress("looking", "images", 0, options.examples);
  each_batch(env, session, "features", "features", options.data + "/train", options.examples,
             [&](const hr::Tensor& out, const hr::Tensor& of) {
               features.insert(features.end(), out.data<float>(),
                               out.data<float>() + out.elements());
               labels.insert(labels.end(), of.data<int64_t>(), of.data<int64_t>() + of.elements());
               progress.update(static_cast<int64_t>(labels.size()), of.elements());
             });
  if (labels.empty()) throw std::runtime_error("there are no images in '" + options.data + "'");
  const auto count = static_cast<int64_t>(labels.size());
  const int64_t width = static_cast<int64_t>(features.size()) / count;
  return {hr::Tensor::adopt({count, width}, std::move(features)),
          hr::Tensor::adopt({count}, std::move(labels))};
}

// The share of the test images that is told right.
double accuracy(const hr::Env& env, const hr::Session& session, const Options& options) {
  int64_t right = 0, all = 0;
  each_batch(env, session, "infer", "scores", options.data + "/test", INT64_MAX,
             [&](const hr::Tensor& scores, const hr::Tensor& labels) {
               for (int64_t i = 0; i < labels.elements(); ++i, ++all) {
                 const float* row = scores.data<float>() + i * kKinds;
                 right += std::max_element(row, row + kKinds) - row == labels.data<int64_t>()[i];
               }
             });
  return all == 0 ? std::nan("") : static_cast<double>(right) / static_cast<double>(all);
}

// ---- The work -----------------------------------------------------------------------------------

void train(const hr::Env& env, const hr::Session& session, const Examples& from, int64_t epochs,
           int64_t steps) {
  hr_dataset_options how{};
  how.batch = kBatch;
  how.repeat = epochs;
  how.shuffle = 1;
  how.seed = 1;
  const hr::Dataset data =
      hr::Dataset::from_tensors(env, {{"features", &from.features}, {"labels", &from.labels}}, how);
  hr::Progress progress("learning", "examples", 0, steps);
  hr::TrainOptions options;
  options.train_data = &data;
  options.on_step = [&](const hr_train_report& report) {
    progress.update(report.step, report.examples, "loss", report.loss);
    return true;
  };
  hr::train(session, options);
}

struct Result {
  double before, after, loaded;
  std::string file;
};

Result run(const Options& options) {
  const hr::Env env;
  const int64_t steps = (options.examples + kBatch - 1) / kBatch * options.epochs;
  const hr::Session session(hr::Model(with_new_head(env, options, steps)), 1);
  Result out;
  out.before = accuracy(env, session, options);
  train(env, session, examples(env, session, options), options.epochs, steps);
  out.after = accuracy(env, session, options);
  std::filesystem::create_directories(options.out);
  out.file = options.out + "/head.hrg";
  session.save_model(out.file, {"infer"});
  out.loaded = accuracy(env, hr::Session(hr::Model::load(env, out.file)), options);
  return out;
}

void print(const Options& options, const Result& result) {
  if (options.json) {
    std::printf("%s\n", nlohmann::json{{"before", result.before},
                                       {"after", result.after},
                                       {"loaded", result.loaded},
                                       {"file", result.file}}
                            .dump()
                            .c_str());
    return;
  }
  std::printf(
      "a new head, before it learns: %5.2f %% of the test images are told right\n"
      "after it has learned:          %5.2f %%\n"
      "saved and loaded again:        %5.2f %%  (%s)\n",
      100 * result.before, 100 * result.after, 100 * result.loaded, result.file.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("finetune_head", kUsage, [&] {
    const Options options = parsed(argc, argv);
    print(options, run(options));
  });
}
