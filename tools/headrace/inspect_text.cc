#include "tools/headrace/inspect_text.h"

#include <map>
#include <set>

#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "%3 conv1:0"; "%3" if the value has no name.
std::string ValueName(const Json& id, const Json& name) {
  std::string out("%");
  out += id.dump();
  std::string text = Text(name);
  return text.starts_with('#') ? out : out + " " + text;
}

// "ai.onnx 19, headrace.train 1"
std::string Pairs(const Json& object, const char* between, const char* empty_key = "") {
  std::string out;
  for (const auto& [key, value] : object.items()) {
    if (!out.empty()) out += ", ";
    out += (key.empty() ? empty_key : key) + between + Text(value);
  }
  return out.empty() ? "none" : out;
}

std::string SegmentsText(const Json& segments) {
  uint64_t bytes = 0;
  std::set<std::string> files;
  for (const Json& segment : segments) {
    bytes += segment["bytes"].get<uint64_t>();
    if (segment["file"] != "") files.insert(segment["file"].get<std::string>());
  }
  std::string out = BytesText(bytes) + " of tensors in " + CountText(segments.size(), "segment");
  for (const std::string& file : files) out += ", side file " + file;
  return out;
}

// "length, 1 to 512, planned for [32,128,512]"
std::string SymbolText(const Json& symbol) {
  std::string out = Text(symbol["name"]);
  bool bounded = !symbol["max"].is_null();
  if (bounded) {
    out += ", " + symbol["min"].dump() + " to " + symbol["max"].dump();
  } else {
    out += symbol["min"] == 0 ? ", any size" : ", at least " + symbol["min"].dump();
  }
  return symbol["buckets"].empty() ? out : out + ", planned for " + symbol["buckets"].dump();
}

void PrintHeader(const std::string& path, const Json& file, const Json& model) {
  std::vector<std::vector<std::string>> rows = {
      {"format", Text(file["format"]) + ", written by " + Text(model["producer"])},
      {"size", BytesText(file["bytes"]) + ": structure " + BytesText(file["structure_bytes"]) +
                   ", " + SegmentsText(file["segments"])},
      {"operator sets", Pairs(model["opsets"], " ", "ai.onnx")}};
  if (!model["metadata"].empty()) rows.push_back({"metadata", Pairs(model["metadata"], ": ")});
  for (const Json& symbol : model["symbols"]) rows.push_back({"dimension", SymbolText(symbol)});
  Print("%s\n", path.c_str());
  PrintTable(rows, 2);
}

// "8 nodes: conv1/weight/update, …"
std::string TargetsText(const Json& targets) {
  constexpr size_t kMost = 4;
  std::string out = CountText(targets.size(), "node") + ": ";
  for (size_t i = 0; i < std::min(targets.size(), kMost); ++i)
    out += (i == 0 ? "" : ", ") + Text(targets[i]);
  return targets.size() > kMost ? out + ", …" : out;
}

void PrintSignatures(const Json& model, const std::string& only) {
  Print("\nsignatures\n");
  for (const Json& signature : model["signatures"]) {
    if (!only.empty() && signature["name"] != only) continue;
    Print("  %s\n", Text(signature["name"]).c_str());
    std::vector<std::vector<std::string>> rows;
    for (const char* way : {"inputs", "outputs"}) {
      for (const Json& port : signature[way]) {
        std::string from =
            port["value"] == port["name"] ? "" : ValueName(port["id"], port["value"]);
        rows.push_back({way == std::string("inputs") ? "in" : "out", Text(port["name"]),
                        Text(port["type"]), from});
      }
    }
    PrintTable(rows, 4);
    if (!signature["targets"].empty())
      Print("    runs %s\n", TargetsText(signature["targets"]).c_str());
  }
}

std::string InitialText(const Json& initial) {
  if (initial.contains("constant")) return "constant " + initial["constant"].dump();
  std::string op = initial.contains("op") ? Text(initial["op"]) + ", " : "";
  return op + "graph " + initial["graph"].dump();
}

struct Sum {
  size_t variables = 0;
  int64_t elements = 0;
  uint64_t bytes = 0;
  void Add(const Json& variable) {
    int64_t count = 1;
    for (const Json& dim : variable["dims"]) count *= dim.get<int64_t>();
    ++variables;
    elements += count;
    bytes += variable["bytes"].get<uint64_t>();
  }
  std::string Text() const {
    return Grouped(elements) + " in " + CountText(variables, "variable") + ", " + BytesText(bytes);
  }
};

// The names that the shown nodes read or write.
std::set<std::string> UsedVariables(const Json& graph) {
  std::set<std::string> used;
  for (const Json& node : graph["nodes"]) {
    for (const char* way : {"reads", "writes"}) {
      if (!node.contains(way)) continue;
      for (const Json& name : node[way]) used.insert(name.get<std::string>());
    }
  }
  return used;
}

void PrintVariables(const Json& model, const Json& graph, bool only_used) {
  std::set<std::string> used = UsedVariables(graph);
  std::vector<std::vector<std::string>> rows;
  Sum trainable;
  Sum other;
  for (const Json& variable : model["variables"]) {
    if (only_used && !used.contains(variable["name"].get<std::string>())) continue;
    bool trains = variable["trainable"];
    (trains ? trainable : other).Add(variable);
    rows.push_back({Text(variable["name"]), Text(variable["dtype"]) + DimsText(variable["dims"]),
                    BytesText(variable["bytes"]), trains ? "trainable" : "",
                    InitialText(variable["initial"])});
  }
  if (rows.empty()) return;
  Print("\nvariables\n");
  PrintTable(rows, 2);
  Print("  trainable parameters: %s\n", trainable.Text().c_str());
  if (other.variables != 0) Print("  others (state): %s\n", other.Text().c_str());
}

void PrintGraphs(const Json& graphs) {
  if (graphs.size() < 2) return;
  Print("\ngraphs (--graph N shows one)\n");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < graphs.size(); ++i)
    rows.push_back(
        {std::to_string(i), Text(graphs[i]["use"]), CountText(graphs[i]["nodes"], "node")});
  PrintTable(rows, 2);
}

class NodePrinter {
 public:
  explicit NodePrinter(const Json& graph) {
    for (const Json& value : graph["values"])
      values_.emplace(value["name"].get<std::string>(), &value);
    for (const Json& node : graph["nodes"])
      ids_.emplace(node["name"].get<std::string>(), node["id"].dump());
  }

  void Print1(const Json& node) const {
    std::string domain = Text(node["domain"]);
    std::string head = "  #" + node["id"].dump() + " " + Text(node["name"]) + ": " +
                       (domain.empty() ? "" : domain + ".") + Text(node["op"]) + "@" +
                       node["version"].dump();
    for (const auto& [name, value] : node["attributes"].items())
      head += " " + name + "=" + value.dump();
    if (node.contains("device")) head += " on " + Text(node["device"]);
    Print("%s\n", head.c_str());
    Line("in", node["inputs"], false);
    Line("out", node["outputs"], true);
    if (node.contains("reads")) Print("      reads  %s\n", Joined(node["reads"]).c_str());
    if (node.contains("writes")) Print("      writes %s\n", Joined(node["writes"]).c_str());
    std::string after;
    for (const Json& control : node["controls"])
      after += (after.empty() ? "#" : ", #") + ids_.at(control) + " " + Text(control);
    if (!after.empty()) Print("      after  %s\n", after.c_str());
  }

 private:
  static std::string Joined(const Json& names) {
    std::string out;
    for (const Json& name : names) out += (out.empty() ? "" : ", ") + Text(name);
    return out;
  }

  // "%3 conv1:0 float32[batch, 20, 24, 24]"
  std::string ValueText(const Json& name, bool with_type) const {
    if (name.is_null()) return "-";
    const Json& value = *values_.at(name);
    std::string out = ValueName(value["id"], name);
    bool constant = value["constant"];
    if (with_type || constant) out += " " + Text(value["type"]);
    return constant ? out + " (constant)" : out;
  }

  void Line(const char* way, const Json& names, bool with_type) const {
    if (names.empty()) return;
    std::string out;
    for (const Json& name : names) out += (out.empty() ? "" : ", ") + ValueText(name, with_type);
    Print("      %-6s %s\n", way, out.c_str());
  }

  std::map<std::string, const Json*> values_;
  std::map<std::string, std::string> ids_;
};

void PrintNodes(const Json& graph) {
  Print("\nnodes (#: node, %%: value)\n");
  NodePrinter printer(graph);
  for (const Json& node : graph["nodes"]) printer.Print1(node);
}

}  // namespace

void PrintModel(const std::string& path, const Json& all, const std::string& signature) {
  const Json& model = all["model"];
  PrintHeader(path, all["file"], model);
  PrintSignatures(model, signature);
  PrintVariables(model, all["graph"], !signature.empty());
  if (signature.empty()) PrintGraphs(model["graphs"]);
  PrintNodes(all["graph"]);
}

namespace {

void PrintPlanHeader(const Json& plan) {
  Print("plan of '%s' for\n", Text(plan["signature"]).c_str());
  std::vector<std::vector<std::string>> inputs;
  for (const Json& input : plan["inputs"])
    inputs.push_back({Text(input["name"]), Text(input["type"])});
  PrintTable(inputs, 2);
}

// What holds the memory at the step at which most of it is in use.
void PrintPeak(const Json& peak) {
  Print("  peak of %s at step %s (%s), held by\n", BytesText(peak["bytes"]).c_str(),
        peak["step"].dump().c_str(), Text(peak["node"]).c_str());
  std::vector<std::vector<std::string>> rows;
  for (const Json& holder : peak["holders"]) {
    rows.push_back({BytesText(holder["bytes"]), Text(holder["node"]),
                    "steps " + holder["first_step"].dump() + " to " + holder["last_step"].dump(),
                    holder["workspace"] == true ? "workspace" : ""});
  }
  if (peak["other_bytes"] != 0) rows.push_back({BytesText(peak["other_bytes"]), "others", "", ""});
  PrintTable(rows, 4);
}

// "channels_last 12.3 us and 1.2 us of copies"
std::string EstimateText(const Json& choice) {
  char text[120];
  std::snprintf(text, sizeof text, "%s, %s: %.1f us", Text(choice["layout"]).c_str(),
                Text(choice["method"]).c_str(), choice["passes_us"].get<double>());
  std::string out = text;
  if (choice["copies_us"] == 0) return out;
  std::snprintf(text, sizeof text, " + %.1f us of copies", choice["copies_us"].get<double>());
  return out + text;
}

// What was chosen by estimates, once for each node.
void PrintChoices(const Json& steps) {
  std::vector<std::vector<std::string>> rows;
  std::set<std::string> known;
  for (const Json& step : steps) {
    if (!step.contains("choice") || !known.insert(step["choice"].dump()).second) continue;
    const Json& choice = step["choice"];
    const Json other = choice.value("runner_up", Json());
    rows.push_back({step.value("node", ""), EstimateText(choice),
                    choice["pinned"] == true ? "pinned" : "",
                    other.is_null() ? "" : "else " + EstimateText(other)});
  }
  if (rows.empty()) return;
  Print("  estimates of one thread, forward and backward\n");
  PrintTable(rows, 4);
}

std::string StepNote(const Json& step) {
  if (step.value("writes_variables", false)) return "writes variables";
  return step.value("again", false) ? "again" : "";
}

// What a plugin's backend says of itself may have other members, or none.
void PrintRegion(const Json& region) {
  const Json& said = region["executable"];
  const Json executable = said.is_object() ? said : Json::object();
  const Json steps = executable.value("steps", Json::array());
  const Json arena_bytes = executable.value("arena_bytes", Json(0));
  Print("\n%s: %zu steps, arena of %s (%s bytes)\n", Text(region["device"]).c_str(), steps.size(),
        BytesText(arena_bytes).c_str(), Grouped(arena_bytes).c_str());
  std::vector<std::vector<std::string>> rows = {{"", "kernel", "node", ""}};
  for (const Json& step : steps) {
    rows.push_back({std::to_string(rows.size() - 1), step.value("kernel", ""),
                    step.value("node", ""), StepNote(step)});
  }
  PrintTable(rows, 2);
  PrintChoices(steps);
  if (executable.contains("peak") && executable["peak"]["bytes"] != 0) {
    PrintPeak(executable["peak"]);
  }
}

}  // namespace

void PrintPlan(const Json& plan) {
  PrintPlanHeader(plan);
  Print("variables written: %s\n", plan["writes_variables"].dump().c_str());
  for (const Json& region : plan["regions"]) PrintRegion(region);
}

void PrintPlacement(const Json& plan) {
  PrintPlanHeader(plan);
  Print("\n");
  std::vector<std::vector<std::string>> nodes = {{"device", "operator", "node", ""}};
  for (const Json& node : plan["placement"]) {
    const std::string device = Text(node["device"]), wanted = Text(node["wanted"]);
    const bool fell_back = !wanted.empty() && wanted != device;
    nodes.push_back(
        {device, Text(node["op"]), Text(node["node"]), fell_back ? wanted + " was wanted" : ""});
  }
  PrintTable(nodes, 2);
  if (!plan.contains("copies")) return;
  std::vector<std::vector<std::string>> copies = {{"from", "to", "bytes", "value"}};
  for (const Json& copy : plan["copies"]) {
    copies.push_back(
        {Text(copy["from"]), Text(copy["to"]), Grouped(copy["bytes"]), Text(copy["value"])});
  }
  Print("\ncopies\n");
  PrintTable(copies, 2);
}

}  // namespace headrace::tool
