// The tour in C++: ../README.md says what it does.
//
//   tour MODEL OUT                             MODEL is a file of make_model, OUT a folder
#include <array>
#include <cstdio>
#include <cstring>
#include <headrace/headrace.hpp>
#include <string>

namespace {

constexpr int kExamples = 12, kFeatures = 8, kClasses = 3;

// Prints a line: a name, and the bits of each element.
void Show(const std::string& name, const float* values, int64_t count) {
  std::printf("%s:", name.c_str());
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &values[i], sizeof bits);
    std::printf(" %08x", bits);
  }
  std::printf("\n");
}

// The data: all numbers are exact in float32.
struct Data {
  std::array<float, kExamples * kFeatures> x;
  std::array<int64_t, kExamples> labels;

  Data() {
    for (int i = 0; i < kExamples; ++i) {
      labels[i] = i % kClasses;
      for (int j = 0; j < kFeatures; ++j) {
        const float base = static_cast<float>((i * 7 + j * 5) % 17 - 8) / 16;
        x[i * kFeatures + j] = base + (j % kClasses == i % kClasses ? 1 : 0);
      }
    }
  }
  // A tensor of the first rows, in place.
  hr::Tensor Rows(int64_t rows) {
    return hr::Tensor::wrap(HR_FLOAT32, {rows, kFeatures}, x.data(),
                            static_cast<size_t>(rows) * kFeatures * sizeof x[0]);
  }
  hr::Tensor Labels() {
    return hr::Tensor::wrap(HR_INT64, {kExamples}, labels.data(), sizeof labels);
  }
};

// Runs the signature "infer" on two examples and prints "p".
void Infer(const hr::Session& session, Data& data, const std::string& name) {
  const hr::Tensor input = data.Rows(2);
  hr::Call call(session, "infer");
  call.bind("x", input).run();
  const hr::Tensor p = call.result("p");
  Show(name, p.data<float>(), p.elements());
}

// 1. Load a file and run it.
hr::Model Load(const hr::Env& env, const std::string& path, Data& data, const std::string& name) {
  hr::Model model = hr::Model::load(env, path);
  Infer(hr::Session(model), data, name);
  return model;
}

// 2. Go on building: a new head on the frozen features of the model.
hr::Model Extend(const hr::Model& base) {
  hr::Graph graph(base);
  graph.set_trainable("*", false);
  graph.remove_signature("infer");
  const hr_value x = graph.find_value("x");
  const hr_value features = graph.find_value("features");
  const hr_value labels = graph.input("labels", HR_INT64, {-1}, {"batch"});
  const hr_value rate = graph.input("rate", HR_FLOAT32, {});
  const hr_value scores = graph.dense("head", features, kClasses);
  const hr_value loss = graph.op("SoftmaxCrossEntropyLoss", {scores, labels});
  const hr_value p = graph.op("Softmax", {scores}, "axis=1");
  graph.signature_input("infer", "x", x).signature_output("infer", "p", p);
  graph.signature_input("train", "x", x)
      .signature_input("train", "labels", labels)
      .signature_input("train", "rate", rate)
      .signature_output("train", "loss", loss);
  graph.minimize("train", loss, "sgd momentum=0.9", rate);
  graph.prune();
  std::printf("variables: %zu\n", graph.info().variable_count);
  return hr::Model(graph);
}

// 3. Fine-tune: the head learns from the data.
void Tune(const hr::Env& env, const hr::Session& session, Data& data) {
  hr_dataset_options options{};
  options.batch = 4;
  options.repeat = 5;
  options.shuffle = 1;
  options.seed = 3;
  const hr::Tensor x = data.Rows(kExamples), labels = data.Labels();
  const hr::Dataset batches =
      hr::Dataset::from_tensors(env, {{"x", &x}, {"labels", &labels}}, options);
  float loss;
  hr::Call step(session, "train");
  step.bind(batches).bind("rate", 0.125).output("loss", &loss, sizeof loss);
  while (!batches.done()) {
    step.run();
    Show("loss", &loss, 1);
  }
}

// 4. Save a checkpoint to go on from, and a file to serve.
void Save(const hr::Session& session, const std::string& checkpoints, const std::string& file) {
  session.save(checkpoints);
  session.save_model(file, {"infer"});
}

// 5. Reload both.
void Reload(const hr::Env& env, const hr::Model& model, Data& data, const std::string& checkpoints,
            const std::string& file) {
  hr::Session session(model);
  session.restore(checkpoints);
  std::printf("step: %lld\n", static_cast<long long>(session.step()));
  Infer(session, data, "restored");
  Load(env, file, data, "served");
}

// 6. What goes wrong says so.
void Fail(const hr::Model& model) {
  try {
    hr::Call(hr::Session(model), "infer").run();  // "x" is not bound
  } catch (const hr::Error& error) {
    std::printf("failure: %s\n", hr_code_name(error.code()));
  }
}

void Tour(const std::string& path, const std::string& out) {
  const std::string checkpoints = out + "/checkpoints", file = out + "/tuned.hrg";
  Data data;
  const hr::Env env(1);
  const hr::Model model = Extend(Load(env, path, data, "loaded"));
  const hr::Session session(model, 7);
  Infer(session, data, "untrained");
  Tune(env, session, data);
  Infer(session, data, "trained");
  Save(session, checkpoints, file);
  Reload(env, model, data, checkpoints, file);
  Fail(model);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tour MODEL OUT\n");
    return 2;
  }
  try {
    Tour(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tour: %s\n", error.what());
    return 1;
  }
  return 0;
}
