// headrace inspect: what is in a graph file, as text, as a picture, as JSON; and what became of a
// signature when it was compiled.
#include <memory>
#include <set>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/feeds.h"
#include "tools/headrace/inspect_text.h"
#include "tools/headrace/output.h"
#include "tools/headrace/session_flags.h"

namespace headrace::tool {
namespace {

constexpr char kInspectDescription[] =
    "Shows a graph file: signatures, variables, nodes; or what the backend compiled of it";
constexpr char kInspectFooter[] =
    "Examples:\n"
    "  headrace inspect lenet.hrg\n"
    "  headrace inspect lenet.hrg --signature infer --dot | dot -Tsvg -o lenet.svg\n"
    "  headrace inspect lenet.hrg --plan train --shape images=64x1x28x28 --shape labels=64\n"
    "  headrace inspect lenet.hrg --operators >lenet.txt; cmake -DHEADRACE_OPERATORS=lenet.txt …\n"
    "  headrace inspect lenet.hrg --placement infer --plugin cuda --device CUDA:0";

struct InspectOptions {
  std::string file;
  std::string signature;
  std::string plan;
  std::string placement;  // as plan, but shows devices
  std::vector<std::string> shapes;
  std::vector<std::string> plugins;
  std::string device;
  SessionFlags session;
  uint32_t graph = 0;
  int threads = 0;
  bool operators = false;
  bool text = false;
  bool dot = false;
  bool json = false;
};

hr_graph_view ViewOf(const InspectOptions& options) {
  auto view = Sized<hr_graph_view>();
  view.graph = options.graph;
  if (!options.signature.empty()) view.signature = options.signature.c_str();
  return view;
}

// The signature compiled for the given shapes; nothing is run.
Json PlanOf(const hr::Env& env, const hr::Model& model, const Json& described,
            const InspectOptions& options) {
  FeedOptions feed_options{.shapes = options.shapes};
  hr_session_options session_options = options.session.Options(0);
  if (!options.device.empty()) session_options.device = options.device.c_str();
  hr::Session session(model, session_options);
  hr::Call call(session, options.plan);
  for (const Feed& feed :
       MakeFeeds(env, FindSignature(described, options.plan), feed_options, "zeros"))
    call.bind(feed.name, feed.tensor);
  Json plan = Described(hr_call_describe, call.get());
  plan["signature"] = options.plan;
  return plan;
}

void CheckUsage(const InspectOptions& options) {
  if (!options.plan.empty()) return;
  if (!options.shapes.empty())
    throw UsageError(
        "--shape gives the shapes that --plan compiles for; give --plan SIGNATURE, too");
  if (!options.device.empty())
    throw UsageError("--device is where --plan puts nodes; give --plan SIGNATURE, too");
  if (!options.session.memory_limit.empty() || !options.session.pin.empty())
    throw UsageError("--memory-limit and --pin are of --plan; give --plan SIGNATURE, too");
}

// The names of the operators of all graphs, bodies too: what HEADRACE_OPERATORS of a build takes.
void PrintOperators(const InspectOptions& options, const hr::Model& model) {
  std::set<std::string> names;
  hr_graph_view view = ViewOf(options);
  const size_t graphs = Described(hr_model_describe, model.get()).at("graphs").size();
  for (size_t i = 0; i < graphs; ++i) {
    view.graph = static_cast<uint32_t>(i);
    const Json graph = Described(hr_model_view, model.get(), "json", &view);
    for (const Json& node : graph.at("nodes")) {
      const auto domain = node.at("domain").get<std::string>();
      names.insert(domain + (domain.empty() ? "" : ".") + node.at("op").get<std::string>());
    }
  }
  std::string text = "# the operators of " + options.file + "\n";
  for (const std::string& name : names) text += name + "\n";
  WriteText("-", text);
}

int Inspect(InspectOptions options) {
  const bool placement = !options.placement.empty();
  if (placement) options.plan = options.placement;
  CheckUsage(options);
  hr::Env env(options.threads);
  for (const std::string& plugin : options.plugins) env.load_plugin(plugin);
  auto load = Sized<hr_load_options>();
  load.inspect_only = 1;
  hr::Model model = hr::Model::load(env, options.file, &load);
  if (options.dot) {
    hr_graph_view view = ViewOf(options);
    WriteText("-", TextOf(hr_model_view, model.get(), "dot", &view));
    return kOk;
  }
  if (options.operators) {
    PrintOperators(options, model);
    return kOk;
  }
  Json all;
  all["file"] = Described(hr_model_file_describe, options.file.c_str());
  all["model"] = Described(hr_model_describe, model.get());
  if (!options.plan.empty()) {
    all["plan"] = PlanOf(env, model, all["model"], options);
  } else {
    hr_graph_view view = ViewOf(options);
    all["graph"] = Described(hr_model_view, model.get(), "json", &view);
  }
  if (options.json) {
    WriteJson("-", all);
  } else if (placement) {
    PrintPlacement(all["plan"]);
  } else if (!options.plan.empty()) {
    PrintPlan(all["plan"]);
  } else {
    PrintModel(options.file, all, options.signature);
  }
  return kOk;
}

}  // namespace

Command AddInspect(CLI::App& program) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* app = AddCommand(program, "inspect", kInspectDescription, kInspectFooter);
  AddWord(app, "FILE", options->file, "graph file");
  AddText(app, "--signature", options->signature, "NAME", "only what this signature needs");
  AddNumber(app, "--graph", options->graph, 0,
            "number of the graph: 0 is the main one, others are initializers and bodies");
  auto* plan = AddText(app, "--plan", options->plan, "SIGNATURE",
                       "compile this signature; show devices, steps, kernels and memory");
  auto* placement = AddText(app, "--placement", options->placement, "SIGNATURE",
                            "compile this signature; show which device runs which node");
  AddRepeated(app, "--plugin", options->plugins, "NAME|FILE.so", "load this plugin first");
  AddText(app, "--device", options->device, "NAME", "with --plan: of nodes that name none (CPU:0)");
  AddRepeated(app, "--shape", options->shapes, "NAME=1x28x28",
              "with --plan: shape of an input (open sizes: 1)");
  AddNumber(app, "--threads", options->threads, 0, "with --plan: compile for so many (0: all)");
  options->session.AddOptions(app);
  auto* text = AddFlag(app, "--text", options->text, "for people (this is the default)");
  auto* dot = AddFlag(app, "--dot", options->dot, "the graph, for Graphviz");
  auto* json = AddFlag(app, "--json", options->json, "everything, as JSON");
  auto* operators = AddFlag(app, "--operators", options->operators,
                            "the names of its operators, for a build with these alone");
  AllowOne({text, dot, json, operators});
  AllowOne({dot, plan, placement, operators});
  return {app, [options] { return Inspect(*options); }};
}

}  // namespace headrace::tool
