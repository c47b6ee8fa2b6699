// headrace doctor: what this machine and this build have, what is missing, and what to do about it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/machine.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kDoctorDescription[] =
    "Says what the machine and this build have, and what is missing";
constexpr char kDoctorFooter[] =
    "Exit status: 0 the library works here (what is optional and missing is named), 1 it does "
    "not.\n\n"
    "Examples:\n"
    "  headrace doctor\n"
    "  headrace doctor --json";

constexpr uint64_t kLittleSharedMemory = uint64_t{128} << 20;

enum class Mark { kGood, kMissing, kBroken };

struct Finding {
  std::string part;
  std::string name;
  Mark mark = Mark::kGood;
  std::string value;
  std::string advice;  // one sentence; empty if nothing is to be done
};

class Findings {
 public:
  void Begin(std::string part) { part_ = std::move(part); }
  void Good(std::string name, std::string value) {
    list_.push_back({part_, std::move(name), Mark::kGood, std::move(value), ""});
  }
  void Missing(std::string name, std::string value, std::string advice) {
    list_.push_back({part_, std::move(name), Mark::kMissing, std::move(value), std::move(advice)});
  }
  void Broken(std::string name, std::string value, std::string advice) {
    list_.push_back({part_, std::move(name), Mark::kBroken, std::move(value), std::move(advice)});
  }
  const std::vector<Finding>& list() const { return list_; }

 private:
  std::string part_;
  std::vector<Finding> list_;
};

void CheckLibrary(Findings& findings) {
  findings.Begin("library");
  findings.Good("version", hr_version_text());
  uint32_t api = hr_api_version();
  std::string text = std::to_string(api);
  if (api / 10000 == HR_API_VERSION / 10000 && api >= HR_API_VERSION) {
    findings.Good("interface", text);
  } else {
    findings.Broken("interface",
                    text + ", this program was built for " + std::to_string(HR_API_VERSION),
                    "Install the library and the program from the same release.");
  }
}

void CheckMemory(const Machine& machine, Findings& findings) {
  std::string memory =
      BytesText(machine.memory) + ", " + BytesText(machine.available) + " available";
  if (machine.memory_limit != 0)
    memory += "; a control group allows " + BytesText(machine.memory_limit);
  findings.Good("memory", memory);
  if (machine.shared_memory == 0) {
    findings.Missing("shared memory", "there is no /dev/shm",
                     "Mount a tmpfs there if processes of this machine are to exchange tensors "
                     "through shared memory.");
    return;
  }
  std::string shm = BytesText(machine.shared_memory) + " at /dev/shm, " +
                    BytesText(machine.shared_memory_free) + " free";
  if (machine.shared_memory >= kLittleSharedMemory) {
    findings.Good("shared memory", shm);
  } else {
    findings.Missing("shared memory", shm,
                     "Give it more (in a container: --shm-size=1g) if processes of this machine "
                     "are to exchange large tensors.");
  }
}

void CheckMachine(const Machine& machine, int threads, Findings& findings) {
  findings.Begin("machine");
  findings.Good("system", machine.system);
  findings.Good("processor", machine.processor.empty() ? "unknown" : machine.processor);
  findings.Good("extensions", machine.extensions.empty() ? "none known" : machine.extensions);
  std::string count = std::to_string(machine.processors) + " online, " +
                      std::to_string(machine.usable) + " usable by this process";
  findings.Good("processors", count);
  if (machine.quota > 0) {
    char quota[64];
    std::snprintf(quota, sizeof quota, "time of %.2g processors", machine.quota);
    int whole = std::max(1, static_cast<int>(std::floor(machine.quota)));
    if (machine.quota >= threads) {
      findings.Good("control group", quota);
    } else {
      findings.Missing("control group",
                       std::string(quota) + ", fewer than the " + std::to_string(threads) +
                           " threads that an env has by default",
                       "Pass --threads " + std::to_string(whole) +
                           " (hr_env_options.threads), since more threads wait for each other.");
    }
  }
  CheckMemory(machine, findings);
}

void CheckBackends(const Json& env, Findings& findings) {
  findings.Begin("backends");
  for (const Json& device : env["devices"]) {
    findings.Good(device["name"], device["backend"].get<std::string>() + ", " +
                                      device["description"].get<std::string>());
  }
  if (env["devices"].empty()) {
    findings.Broken("devices", "none: this build can look at graphs, not run them",
                    "Build with HEADRACE_CPU=ON.");
  }
  findings.Good("threads", env["threads"].dump() + " by default");
  findings.Good("operators", std::to_string(env["operators"].size()));
}

void CheckOneDnn(const Json& onednn, Findings& findings) {
  if (onednn.contains("version")) {
    findings.Good("oneDNN", onednn.value("version", "") + ", " + onednn.value("path", "") +
                                "; used for heavy products and convolutions");
  } else {
    findings.Missing("oneDNN", onednn.value("missing", "not used by this build"),
                     "The portable kernels do all the work; to speed up heavy convolutions, pip "
                     "install onednn-cpu-gomp and let HEADRACE_ONEDNN name its libdnnl.so.3.");
  }
}

void CheckTransports(const Json& env, Findings& findings) {
  findings.Begin("transports");
  struct {
    const char* name;
    const char* between;
    const char* advice;
  } const known[] = {
      {"inproc", "between threads", "Build with HEADRACE_COMM=ON."},
      {"shm", "between processes of this machine", "Build with HEADRACE_COMM=ON on Linux."},
      {"ucx", "between machines, by RDMA if they have it",
       "If the machines have RDMA, install UCX and put libheadrace_ucx.so beside the library."},
      {"tcp", "between machines",
       "Install libuv and OpenSSL 3, and put libheadrace_net.so beside the library."}};
  const Json& present = env["transports"];
  for (const auto& transport : known) {
    if (std::find(present.begin(), present.end(), transport.name) != present.end()) {
      const std::string devices = env["transport_devices"].value(transport.name, "");
      findings.Good(transport.name,
                    transport.between + (devices.empty() ? "" : "; found " + devices));
    } else {
      findings.Missing(transport.name, "not in this build", transport.advice);
    }
  }
}

// A product small enough to know: the kernels run on this processor and are right.
void CheckProduct(const hr::Env& env, Findings& findings) {
  constexpr char kAdvice[] = "Please report this, with the output of headrace doctor --json.";
  try {
    hr::Graph graph(env);
    hr_value x = graph.input("x", HR_FLOAT32, {2, 2});
    graph.signature_input("run", "x", x);
    graph.signature_output("run", "y", graph.op("MatMul", {x, x}));
    hr::Model model(graph);
    hr::Session session(model);
    hr::Call call(session, "run");
    float in[4] = {1, 2, 3, 4}, out[4] = {};
    call.bind("x", hr::Tensor::wrap(HR_FLOAT32, {2, 2}, in, sizeof in))
        .output("y", out, sizeof out);
    call.run();
    if (out[0] == 7 && out[1] == 10 && out[2] == 15 && out[3] == 22) {
      findings.Good("a small product", "computed, and right");
    } else {
      findings.Broken("a small product", "wrong", kAdvice);
    }
  } catch (const hr::Error& error) {
    findings.Broken("a small product", error.message(), kAdvice);
  }
}

void CheckData(const hr::Env& env, Findings& findings) {
  findings.Begin("data sets");
  try {
    hr::Dataset data(env, "idx:fashion-mnist/test");
    findings.Good("fashion-mnist", "found");
  } catch (const hr::Error& error) {
    findings.Missing("fashion-mnist", error.message(),
                     "Install dataset-fashion-mnist (Debian), or set HEADRACE_DATA to the folder "
                     "that holds a folder fashion-mnist with the four IDX files.");
  }
}

bool OnPath(const std::string& program) {
  const char* variable = std::getenv("PATH");
  std::string path = variable == nullptr ? "" : variable;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::error_code ignored;
    if (std::filesystem::exists(path.substr(begin, end - begin) + "/" + program, ignored))
      return true;
    begin = end + 1;
  }
  return false;
}

void CheckProgram(const std::string& program, const std::string& advice, Findings& findings) {
  if (OnPath(program)) {
    findings.Good(program, "found");
  } else {
    findings.Missing(program, "not found", advice);
  }
}

Findings Examine() {
  Findings findings;
  CheckLibrary(findings);
  hr::Env env;
  Json described = Described(hr_env_describe, env.get());
  CheckMachine(ThisMachine(), described["threads"], findings);
  CheckBackends(described, findings);
  CheckOneDnn(described.value("onednn", Json::object()), findings);
  if (!described["devices"].empty()) CheckProduct(env, findings);
  CheckTransports(described, findings);
  CheckData(env, findings);
  findings.Begin("programs beside it");
  CheckProgram("dot", "Install graphviz to draw what 'headrace inspect --dot' prints.", findings);
  CheckProgram("tensorboard",
               "Install tensorboard (with pip) to look at what 'headrace train --events' writes.",
               findings);
  return findings;
}

const char* MarkText(Mark mark) {
  return mark == Mark::kGood ? "ok" : mark == Mark::kMissing ? "missing" : "broken";
}

void PrintFindings(const std::vector<Finding>& list) {
  std::string part;
  std::vector<std::vector<std::string>> rows;
  for (const Finding& finding : list) {
    if (finding.part != part) rows.push_back({finding.part});
    part = finding.part;
    const char* mark = finding.mark == Mark::kGood ? "" : MarkText(finding.mark);
    rows.push_back({"  " + finding.name, mark, finding.value});
    if (!finding.advice.empty()) rows.push_back({"", "", "-> " + finding.advice});
  }
  PrintTable(rows, 0);
}

Json ToJson(const std::vector<Finding>& list) {
  Json out = Json::array();
  for (const Finding& finding : list) {
    Json item = {{"part", finding.part},
                 {"name", finding.name},
                 {"state", MarkText(finding.mark)},
                 {"value", finding.value}};
    if (!finding.advice.empty()) item["advice"] = finding.advice;
    out.push_back(std::move(item));
  }
  return out;
}

int Doctor(bool json) {
  std::vector<Finding> list = Examine().list();
  if (json) {
    WriteJson("-", ToJson(list));
  } else {
    PrintFindings(list);
  }
  for (const Finding& finding : list) {
    if (finding.mark == Mark::kBroken) return kFailure;
  }
  return kOk;
}

}  // namespace

Command AddDoctor(CLI::App& program) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = AddCommand(program, "doctor", kDoctorDescription, kDoctorFooter);
  AddFlag(app, "--json", *json, "print a JSON list of findings");
  return {app, [json] { return Doctor(*json); }};
}

}  // namespace headrace::tool
