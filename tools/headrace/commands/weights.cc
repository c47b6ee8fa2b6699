// headrace weights: the variables of graph files, to and from files of other programs.
#include <fstream>
#include <memory>
#include <sstream>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kListDescription[] = "Lists the weights of a graph file, .safetensors or .npz";
constexpr char kListFooter[] =
    "A graph file's weights are its variables.\n\n"
    "Example:\n"
    "  headrace weights list model.safetensors";
constexpr char kExportDescription[] =
    "Writes the variables of a graph file to a .safetensors or .npz file";
constexpr char kImportDescription[] =
    "Writes a graph file whose variables begin with the weights of a .safetensors or .npz file";
constexpr char kNamesFooter[] =
    "--names takes a JSON file with an object {\"name in the weights file\": \"variable\"} for "
    "names\n"
    "that differ; null instead of a variable leaves the tensor out. The same file serves both "
    "ways.\n"
    "Types and shapes must be the same. What does not fit is named all at once, and nothing is\n"
    "written.\n\n";

struct WeightsOptions {
  std::string file, weights, to, names;
  bool partial = false, trainable = false, json = false;
};

bool IsGraphFile(const std::string& path) { return path.ends_with(".hrg"); }

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw Failure("cannot read '" + path + "', or it is empty");
  return text.str();
}

// The entries of hr_model_describe's variables as those of a file of weights.
Json VariablesOf(const std::string& path) {
  const hr::Env env;
  auto options = Sized<hr_load_options>();
  options.inspect_only = 1;
  const hr::Model model = hr::Model::load(env, path, &options);
  return Described(hr_model_describe, model.get())["variables"];
}

int List(const WeightsOptions& options) {
  const Json weights = IsGraphFile(options.file)
                           ? VariablesOf(options.file)
                           : Described(hr_weights_describe, options.file.c_str());
  if (options.json) {
    WriteJson("-", weights);
    return kOk;
  }
  uint64_t bytes = 0;
  std::vector<std::vector<std::string>> rows;
  for (const Json& weight : weights) {
    bytes += weight["bytes"].get<uint64_t>();
    rows.push_back({weight["name"], weight["dtype"].get<std::string>() + DimsText(weight["dims"]),
                    BytesText(weight["bytes"])});
  }
  PrintTable(rows, 0);
  Print("%s, %s\n", CountText(weights.size(), "tensor").c_str(), BytesText(bytes).c_str());
  return kOk;
}

// What both ways need; `how` refers to `names`.
struct Opened {
  hr::Env env;
  hr::Model model;
  hr::Session session;
  std::string names;
  hr_weights_options how = Sized<hr_weights_options>();

  explicit Opened(const WeightsOptions& options)
      : model(hr::Model::load(env, options.file)), session(model) {
    how.partial = options.partial ? 1 : 0;
    how.trainable = options.trainable ? 1 : 0;
    if (options.names.empty()) return;
    names = ReadText(options.names);
    how.names = names.c_str();
  }
};

int Export(const WeightsOptions& options) {
  const Opened opened(options);
  const Json report =
      Described(hr_session_export_weights, opened.session.get(), options.weights.c_str(),
                &opened.how, static_cast<const hr_limits*>(nullptr));
  if (options.json) {
    WriteJson("-", report);
  } else {
    Print("%s: %s, %s\n", options.weights.c_str(), CountText(report["tensors"], "tensor").c_str(),
          BytesText(report["bytes"]).c_str());
  }
  return kOk;
}

// A graph file with all signatures and the session's values.
void Save(const Opened& opened, const std::string& path) {
  const Json described = Described(hr_model_describe, opened.model.get());
  std::vector<std::string> names;
  for (const Json& signature : described["signatures"]) names.push_back(signature["name"]);
  opened.session.save_model(path, names);
}

int Import(const WeightsOptions& options) {
  const Opened opened(options);
  const Json report =
      Described(hr_session_import_weights, opened.session.get(), options.weights.c_str(),
                &opened.how, static_cast<const hr_limits*>(nullptr));
  Save(opened, options.to);
  if (options.json) {
    WriteJson("-", report);
    return kOk;
  }
  Print("%s: %s imported, %s\n", options.to.c_str(), CountText(report["tensors"], "tensor").c_str(),
        BytesText(report["bytes"]).c_str());
  for (const Json& name : report["left"]) {
    Print("  %s stays as it was\n", name.get<std::string>().c_str());
  }
  return kOk;
}

void AddNames(CLI::App* app, WeightsOptions& options) {
  AddText(app, "--names", options.names, "FILE.json",
          "names of tensors that are not the variables'");
  AddFlag(app, "--json", options.json, "print what was done as JSON");
}

}  // namespace

Command AddWeightsList(CLI::App& weights) {
  auto options = std::make_shared<WeightsOptions>();
  CLI::App* app = AddCommand(weights, "list", kListDescription, kListFooter);
  AddWord(app, "FILE", options->file, "a .hrg, .safetensors or .npz file");
  AddFlag(app, "--json", options->json, "print them as JSON");
  return {app, [options] { return List(*options); }};
}

Command AddWeightsExport(CLI::App& weights) {
  auto options = std::make_shared<WeightsOptions>();
  CLI::App* app = AddCommand(weights, "export", kExportDescription,
                             std::string(kNamesFooter) +
                                 "Example:\n"
                                 "  headrace weights export model.hrg model.safetensors");
  AddWord(app, "FILE", options->file, "graph file");
  AddWord(app, "WEIGHTS", options->weights, "the .safetensors or .npz file to write; replaced");
  AddFlag(app, "--trainable", options->trainable, "only variables that are trained");
  AddNames(app, *options);
  return {app, [options] { return Export(*options); }};
}

Command AddWeightsImport(CLI::App& weights) {
  auto options = std::make_shared<WeightsOptions>();
  CLI::App* app = AddCommand(weights, "import", kImportDescription,
                             std::string(kNamesFooter) +
                                 "Example:\n"
                                 "  headrace weights import model.hrg model.safetensors new.hrg");
  AddWord(app, "FILE", options->file, "graph file");
  AddWord(app, "WEIGHTS", options->weights, "a .safetensors or .npz file");
  AddWord(app, "TO", options->to, "the graph file to write; replaced, and may be FILE");
  AddFlag(app, "--partial", options->partial, "leave alone what only one of the two files has");
  AddNames(app, *options);
  return {app, [options] { return Import(*options); }};
}

}  // namespace headrace::tool
