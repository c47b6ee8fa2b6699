// headrace train: the managed training loop over a graph file and a data set.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/dataset_spec.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/feeds.h"
#include "tools/headrace/output.h"
#include "tools/headrace/session_flags.h"
#include "tools/headrace/stop_signal.h"
#include "tools/headrace/training_progress.h"

namespace headrace::tool {
namespace {

constexpr char kTrainDescription[] = "Trains a graph file on a data set";
constexpr char kTrainFooter[] =
    "SPEC is the address of a data set, such as idx:fashion-mnist/train or "
    "csv:prices.csv?label=price\n"
    "(formats: idx, cifar10, cifar100, npy, npz, csv, text, images; docs/data.md has their keys); "
    "files\n"
    "are also looked for below $HEADRACE_DATA and /usr/share/datasets. Its fields feed the inputs "
    "of the\n"
    "same names; --bind joins other names, --set gives numbers. Training data is shuffled and "
    "read\n"
    "ahead unless its address says otherwise.\n\n"
    "Ctrl-C (or SIGTERM) stops after the step, saves a checkpoint and ends with status 130 (143); "
    "a\n"
    "second one ends at once. The same command with --resume goes on as if nothing had "
    "happened.\n\n"
    "Example:\n"
    "  headrace train lenet.hrg --data idx:fashion-mnist/train --batch 64 --epochs 2 \\\n"
    "    --set learning_rate=0.05 --evaluate eval --evaluate-data idx:fashion-mnist/test \\\n"
    "    --checkpoint out/checkpoints --events out/events --export lenet-serve.hrg";

struct Options {
  std::string file;
  std::string data;
  std::string signature = "train";
  std::vector<std::string> bind;
  std::vector<std::string> set;
  int64_t epochs = 0;
  int64_t steps = 0;
  int64_t batch = 0;
  uint64_t seed = 0;
  std::string checkpoint;
  bool resume = false;
  int64_t save_every = 0;
  int keep = 0;
  std::string events;
  std::string evaluate;
  std::string evaluate_data;
  int64_t evaluate_every = 0;
  std::string schedule;
  std::string schedule_input;
  std::string best;
  int64_t patience = 0;
  std::string export_file;
  std::vector<std::string> export_signatures;
  int threads = 0;
  SessionFlags session;
  std::string json;
};

void CheckTogether(const Options& options) {
  if (options.epochs != 0 && options.steps != 0)
    throw UsageError("--epochs and --steps both define the end of the training; give only one");
  if (options.evaluate.empty() != options.evaluate_data.empty())
    throw UsageError("--evaluate and --evaluate-data go together");
  if (options.evaluate_every != 0 && options.evaluate.empty())
    throw UsageError("--evaluate-every needs --evaluate and --evaluate-data");
  if (options.checkpoint.empty() &&
      (options.resume || options.save_every != 0 || options.keep != 0))
    throw UsageError("--resume, --save-every and --keep need --checkpoint DIR");
  if (!options.best.empty() && options.evaluate.empty())
    throw UsageError("--best needs --evaluate and --evaluate-data");
  if (options.patience != 0 && options.best.empty())
    throw UsageError("--patience needs --best METRIC");
  if (!options.best.empty() && !options.export_file.empty() && options.checkpoint.empty())
    throw UsageError(
        "--export writes the best of --best METRIC, which is kept in --checkpoint DIR; give one");
  if (!options.schedule_input.empty() && options.schedule.empty())
    throw UsageError("--schedule-input needs --schedule TEXT");
  if (options.export_file.empty() && !options.export_signatures.empty())
    throw UsageError("--export-signature needs --export FILE");
}

// Whether `path` holds a checkpoint.
bool HasCheckpoint(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().filename().string().starts_with("step-")) return true;
  }
  return false;
}

// A file that is written at the end is refused before the beginning.
void CheckFolderOf(const std::string& file, const std::string& option) {
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw Failure(option + ": there is no folder '" + folder.string() + "'");
}

void CheckPlaces(const Options& options) {
  if (!options.resume && !options.checkpoint.empty() && HasCheckpoint(options.checkpoint))
    throw Failure(
        "'" + options.checkpoint +
        "' already contains checkpoints; add --resume to continue from the newest, or name "
        "another folder");
  CheckFolderOf(options.export_file, "--export");
  CheckFolderOf(options.json, "--json");
}

DatasetSpec TrainingSpec(const Options& options) {
  DatasetSpec spec(options.data);
  if (options.batch != 0) spec.Add("batch", std::to_string(options.batch), "--batch");
  if (options.epochs != 0) spec.Add("repeat", std::to_string(options.epochs), "--epochs");
  if (options.steps != 0) spec.AddDefault("repeat", "forever");
  if (options.seed != 0) spec.AddDefault("seed", std::to_string(options.seed));
  spec.AddDefault("shuffle", "1");
  spec.AddDefault("prefetch", "2");
  return spec;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A data set whose fields have the names that --bind gives them. Of the evaluation's it renames
// those that it has.
hr::Dataset OpenData(const hr::Env& env, const std::string& spec, const Options& options,
                     bool all_fields) {
  hr::Dataset data(env, spec);
  for (const auto& [input, field] : NamedValues(options.bind, "--bind")) {
    if (!all_fields && !Has(data.fields(), field)) continue;
    data.rename(field, input);
  }
  return data;
}

using Scalars = std::map<std::string, double>;

Scalars ParseScalars(const std::vector<std::string>& items) {
  Scalars out;
  for (const auto& [name, text] : NamedValues(items, "--set")) {
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != text.size())
      throw UsageError("--set takes NAME=NUMBER, got '" + name + "=" + text + "'");
    out[name] = value;
  }
  return out;
}

// Every input of the signature gets a value from somewhere, before anything is trained.
void CheckInputs(const Json& signature, const std::vector<std::string>& fields,
                 const Scalars& scalars, bool can_set) {
  for (const Json& port : signature["inputs"]) {
    std::string name = port["name"];
    if (Has(fields, name) || scalars.contains(name)) continue;
    std::string known;
    for (const std::string& field : fields) known += (known.empty() ? "" : ", ") + field;
    throw Failure("input '" + name + "' (" + port["type"].get<std::string>() + ") of signature '" +
                  signature["name"].get<std::string>() + "' has no value: the data set gives " +
                  known + "; use --bind " + name + "=FIELD" +
                  (can_set ? " or --set " + name + "=NUMBER" : ""));
  }
}

std::vector<std::string> ExportedSignatures(const Options& options, const Json& model) {
  std::vector<std::string> names = options.export_signatures;
  for (const std::string& name : names) FindSignature(model, name);
  if (!names.empty()) return names;
  for (const Json& signature : model["signatures"]) {
    if (signature["name"] != options.signature) names.push_back(signature["name"]);
  }
  if (names.empty())
    throw Failure("--export: the model has no signature but '" + options.signature + "'");
  return names;
}

// The model whose signature computes the learning rate by a schedule, in place of its input.
hr::Model WithSchedule(const hr::Model& model, const Options& options) {
  const std::string wanted =
      options.schedule_input.empty() ? "learning_rate" : options.schedule_input;
  hr::Graph graph(model);
  const hr_signature_info info = graph.signature(graph.find_signature(options.signature));
  std::string known;
  for (size_t i = 0; i < info.input_count; ++i) {
    if (info.input_names[i] != wanted) {
      known += std::string(known.empty() ? "" : ", ") + info.input_names[i];
      continue;
    }
    const hr_value input = info.inputs[i];
    const hr_dtype dtype = graph.value(input).dtype;
    const hr_value rate = graph.schedule(options.signature, options.schedule);
    graph.replace(input, graph.op("Cast", {rate}, "to=" + std::to_string(dtype)));
    return hr::Model(graph);
  }
  throw Failure("--schedule: signature '" + options.signature + "' has no input '" + wanted +
                "', it has: " + known + "; name its learning rate with --schedule-input");
}

// The metric of --best, and whether its smallest value is the best.
struct Best {
  std::string metric;
  bool is_smallest = false;
};

Best ParseBest(const std::string& text) {
  if (text.starts_with("min:")) return {text.substr(4), true};
  if (text.starts_with("max:")) return {text.substr(4), false};
  return {text, text == "loss" || text == "perplexity"};
}

// Steps at which training ends; -1 if that is unknown.
int64_t TotalSteps(const Options& options, const DatasetSpec& spec, const hr::Dataset& data) {
  if (options.steps != 0) return options.steps;
  std::string repeat = spec.Find("repeat").value_or("1");
  if (repeat == "forever" || data.batches() < 0) return -1;
  return data.batches() * std::stoll(repeat);
}

// A short training leaves a curve too, not only its last point.
int64_t SummarySteps(int64_t total) {
  constexpr int64_t kPoints = 100, kMost = 100;
  return total < 0 ? kMost : std::clamp<int64_t>(total / kPoints, 1, kMost);
}

// What a training has come to.
struct Outcome {
  hr_train_report report;
  Metrics metrics;  // of the last evaluation
};

Outcome Train(const hr::Session& session, const Options& options, const Scalars& scalars,
              const DatasetSpec& spec, const hr::Dataset& data, const hr::Dataset* test) {
  const int64_t total = TotalSteps(options, spec, data);
  TrainingProgress progress(total);
  const Best best = ParseBest(options.best);
  hr::TrainOptions train;
  train.train_signature = options.signature;
  train.eval_signature = options.evaluate;
  train.train_data = &data;
  train.eval_data = test;
  train.max_steps = options.steps;
  train.scalars.assign(scalars.begin(), scalars.end());
  train.checkpoint_directory = options.checkpoint;
  train.checkpoint_steps = options.save_every;
  train.keep_checkpoints = options.keep;
  train.event_directory = options.events;
  train.summary_steps = SummarySteps(total);
  train.eval_steps = options.evaluate_every;
  train.best_metric = best.metric;
  train.best_is_smallest = best.is_smallest;
  train.restore_best = !options.best.empty() && !options.export_file.empty();
  train.patience = options.patience;
  train.on_evaluate = [&](const hr_train_report& report, const Metrics& metrics) {
    progress.Evaluated(report, metrics);
  };
  train.on_step = [&](const hr_train_report& report) {
    progress.Step(report);
    return StopSignal() == 0;
  };
  train.on_message = [&](const std::string& message) { progress.Say(message); };
  WatchForStop();
  const hr_train_report report = hr::train(session, train);
  return {report, progress.metrics()};
}

// Whether any step was done, so that there is a loss and a speed.
bool Trained(const hr_train_report& report) { return report.examples != 0; }

Json NumberOrNull(double value) { return std::isnan(value) ? Json() : Json(value); }

Json BestJson(const Options& options, const hr_train_report& report) {
  if (options.best.empty() || report.best_step < 0) return nullptr;
  return {{"metric", ParseBest(options.best).metric},
          {"value", report.best},
          {"step", report.best_step}};
}

Json ReportJson(const Options& options, const Outcome& outcome, bool exported) {
  const hr_train_report& report = outcome.report;
  auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  auto measured = [&](double value) { return Trained(report) ? Json(value) : Json(); };
  Json out = {{"steps", report.step},
              {"epochs", report.epoch},
              {"loss", measured(report.loss)},
              {"examples_per_second", measured(report.examples_per_second)},
              {"learning_rate", NumberOrNull(report.learning_rate)},
              {"evaluation", nullptr},
              {"best", BestJson(options, report)},
              {"stopped_early", report.stopped_early != 0},
              {"stopped", StopSignal() != 0},
              {"checkpoints", or_null(options.checkpoint)},
              {"events", or_null(options.events)},
              {"export", or_null(exported ? options.export_file : "")}};
  if (report.evaluated == 0) return out;
  out["evaluation"] = {{"loss", report.evaluation_loss}, {"accuracy", report.evaluation_accuracy}};
  for (const auto& [name, value] : outcome.metrics) out["evaluation"][name] = NumberOrNull(value);
  return out;
}

void PrintReport(const Options& options, const Outcome& outcome, bool exported) {
  const hr_train_report& report = outcome.report;
  std::vector<std::vector<std::string>> rows;
  Print("step %lld, %s complete", static_cast<long long>(report.step),
        CountText(static_cast<size_t>(report.epoch), "epoch").c_str());
  if (Trained(report)) {
    Print(", loss %.4f, %s examples/s\n", report.loss,
          Grouped(std::llround(report.examples_per_second)).c_str());
  } else {
    Print(
        ": nothing was left to train; give more --%s to go on, or another --checkpoint DIR to "
        "begin "
        "afresh\n",
        options.steps != 0 ? "steps" : "epochs");
  }
  if (report.evaluated != 0) Print("%s\n", EvaluationText(report, outcome.metrics).c_str());
  if (!std::isnan(report.learning_rate)) Print("learning rate %g\n", report.learning_rate);
  if (!options.best.empty() && report.best_step >= 0) {
    Print("best %s %.4f at step %lld%s\n", ParseBest(options.best).metric.c_str(), report.best,
          static_cast<long long>(report.best_step),
          report.stopped_early != 0 ? ", stopped early" : "");
  }
  if (!options.checkpoint.empty()) rows.push_back({"checkpoints", options.checkpoint});
  if (!options.events.empty()) rows.push_back({"events", "tensorboard --logdir " + options.events});
  if (exported) rows.push_back({"export", options.export_file});
  PrintTable(rows, 0);
}

int Stopped(const Options& options) {
  std::fprintf(stderr, "headrace train: stopped by signal %d; %s\n", StopSignal(),
               options.checkpoint.empty()
                   ? "nothing was saved, because there is no --checkpoint DIR"
                   : "the same command with --resume goes on from the checkpoint");
  return 128 + StopSignal();
}

int RunTrain(const Options& options) {
  CheckTogether(options);
  DatasetSpec spec = TrainingSpec(options);
  Scalars scalars = ParseScalars(options.set);
  CheckPlaces(options);
  hr::Env env(options.threads);
  hr::Model model = hr::Model::load(env, options.file);
  if (!options.schedule.empty()) model = WithSchedule(model, options);
  Json described = Described(hr_model_describe, model.get());
  std::vector<std::string> exported;
  if (!options.export_file.empty()) exported = ExportedSignatures(options, described);
  hr::Dataset data = OpenData(env, spec.text(), options, true);
  CheckInputs(FindSignature(described, options.signature), data.fields(), scalars, true);
  std::unique_ptr<hr::Dataset> test;
  if (!options.evaluate.empty()) {
    test = std::make_unique<hr::Dataset>(OpenData(env, options.evaluate_data, options, false));
    CheckInputs(FindSignature(described, options.evaluate), test->fields(), {}, false);
  }
  hr::Session session(model, options.session.Options(options.seed));
  if (options.resume && !HasCheckpoint(options.checkpoint))
    std::fprintf(stderr, "no checkpoint in '%s' yet: beginning with step 0\n",
                 options.checkpoint.c_str());
  if (!options.events.empty()) hr::Events(options.events).graph(model);
  const Outcome outcome = Train(session, options, scalars, spec, data, test.get());
  bool stopped = StopSignal() != 0;
  if (!stopped && !exported.empty()) session.save_model(options.export_file, exported);
  bool has_export = !stopped && !exported.empty();
  if (options.json != "-") PrintReport(options, outcome, has_export);
  if (!options.json.empty()) WriteJson(options.json, ReportJson(options, outcome, has_export));
  return stopped ? Stopped(options) : kOk;
}

void AddTrainingOptions(CLI::App* app, Options* options) {
  AddWord(app, "FILE", options->file, "graph file");
  Require(AddText(app, "--data", options->data, "SPEC", "what to train on"));
  AddText(app, "--signature", options->signature, "NAME",
          "what to run; has an output \"loss\" (train)");
  AddRepeated(app, "--bind", options->bind, "INPUT=FIELD",
              "feed an input from the field of another name");
  AddRepeated(app, "--set", options->set, "INPUT=NUMBER",
              "give an input this number, e.g. learning_rate=0.05");
  AddNumber(app, "--epochs", options->epochs, 1, "passes over the data (1)");
  AddNumber(app, "--steps", options->steps, 1, "end at this step, resumed ones included");
  AddNumber(app, "--batch", options->batch, 1, "examples a step (32)");
  AddText(app, "--schedule", options->schedule, "TEXT",
          "the learning rate of each step, e.g. \"cosine base=0.1 warmup=500 steps=10000\"");
  AddText(app, "--schedule-input", options->schedule_input, "INPUT",
          "the input that gets it (learning_rate)");
  AddNumber(app, "--seed", options->seed, 0, "of initial values and shuffling (0)");
  AddNumber(app, "--threads", options->threads, 0, "threads that compute (0: all processors)");
  options->session.AddOptions(app);
}

void AddOutputOptions(CLI::App* app, Options* options) {
  AddText(app, "--checkpoint", options->checkpoint, "DIR", "folder for checkpoints");
  AddFlag(app, "--resume", options->resume, "continue from the newest checkpoint, if there is one");
  AddNumber(app, "--save-every", options->save_every, 1,
            "steps between checkpoints (at the end only)");
  AddNumber(app, "--keep", options->keep, 1, "newest checkpoints kept (5)");
  AddText(app, "--events", options->events, "DIR", "folder for TensorBoard");
  AddText(app, "--evaluate", options->evaluate, "SIGNATURE",
          "evaluate with this signature; has \"loss\" and perhaps \"correct\" (a count)");
  AddText(app, "--evaluate-data", options->evaluate_data, "SPEC", "what to evaluate on");
  AddNumber(app, "--evaluate-every", options->evaluate_every, 1,
            "steps between evaluations (at the end only)");
  AddText(app, "--best", options->best, "METRIC",
          "keep the checkpoint with the best loss, accuracy or other metric of the evaluation;\n"
          "min:METRIC or max:METRIC (min for loss and perplexity)");
  AddNumber(app, "--patience", options->patience, 1,
            "stop after so many evaluations that are no better than the best");
  AddText(app, "--export", options->export_file, "FILE",
          "write a file to serve when training is done");
  AddRepeated(app, "--export-signature", options->export_signatures, "NAME",
              "signatures to keep in it (all but the training one)");
  AddText(app, "--json", options->json, "FILE",
          "write a report there; - is standard output, alone");
}

}  // namespace

Command AddTrain(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = AddCommand(program, "train", kTrainDescription, kTrainFooter);
  AddTrainingOptions(app, options.get());
  AddOutputOptions(app, options.get());
  return {app, [options] { return RunTrain(*options); }};
}

}  // namespace headrace::tool
