#include "tools/headrace/costs.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <vector>

#include "tools/headrace/errors.h"
#include "tools/headrace/library.h"
#include "tools/headrace/measure.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

struct Shape {
  int64_t batch, channels, size, out, kernel, group;
};

// A method of convolutions, how it is pinned, and shapes that it is measured in.
struct Method {
  const char* name;
  const char* pin;
  std::vector<Shape> shapes;
};

std::vector<Method> Methods() {
  const char* const blocked = "layout=batch_blocked kernel=direct";
  return {
      {"direct", blocked, {{64, 1, 28, 20, 5, 1}, {32, 3, 28, 16, 5, 1}}},
      {"direct_1x1", blocked, {{16, 64, 14, 64, 1, 1}, {16, 32, 28, 64, 1, 1}}},
      {"winograd",
       "layout=batch_blocked kernel=winograd",
       {{16, 64, 16, 64, 3, 1}, {16, 32, 28, 64, 3, 1}}},
      {"channels_last",
       "layout=channels_last kernel=direct",
       {{4, 72, 16, 72, 3, 1}, {4, 64, 28, 128, 1, 1}, {2, 120, 14, 120, 3, 1}}},
      {"depthwise", "layout=channels_last", {{4, 64, 28, 64, 3, 64}, {2, 128, 14, 128, 3, 128}}},
      {"portable", "layout=plain kernel=portable", {{4, 64, 28, 64, 3, 1}, {4, 64, 28, 128, 1, 1}}},
      {"onednn", "layout=plain kernel=onednn", {{4, 64, 28, 64, 3, 1}, {4, 128, 14, 128, 3, 1}}}};
}

hr::Model ModelOf(const hr::Env& env, const Shape& s) {
  hr::Graph graph(env);
  const hr_value x = graph.input("x", HR_FLOAT32, {s.batch, s.channels, s.size, s.size});
  const std::string pad = std::to_string(s.kernel / 2);
  const std::string attributes =
      "pads=" + pad + "," + pad + "," + pad + "," + pad + " group=" + std::to_string(s.group);
  const hr_value y = graph.conv2d("conv", x, s.out, s.kernel, attributes);
  graph.signature_input("infer", "x", x);
  graph.signature_output("infer", "y", y);
  return hr::Model(graph);
}

// What the steps of a run take, in microseconds.
struct Times {
  double conv = std::numeric_limits<double>::infinity();
  double copies = std::numeric_limits<double>::infinity();
};

// The least of many runs, since others may share the machine.
Times TimesOf(hr::Call& call) {
  constexpr int kRuns = 60;
  Times best;
  for (int run = 0; run < kRuns; ++run) {
    Times now{0, 0};
    const Json profile = Described(hr_call_profile, call.get(), nullptr);
    for (const Json& step : profile["steps"]) {
      const std::string kernel = step["kernel"];
      const double taken = (step["end"].get<double>() - step["begin"].get<double>()) / 1000;
      (kernel.starts_with("conv") ? now.conv : now.copies) += taken;
    }
    best = {std::min(best.conv, now.conv), std::min(best.copies, now.copies)};
  }
  return best;
}

// What the model says of the only convolution of a plan.
Json ChoiceOf(hr::Call& call) {
  const Json plan = Described(hr_call_describe, call.get());
  for (const Json& step : plan["regions"][0]["executable"]["steps"]) {
    if (step.contains("choice")) return step["choice"];
  }
  throw Failure("the plan of a convolution says nothing of its costs");
}

struct Factors {
  std::vector<double> method, copies;  // measured over estimated, by shape
};

Factors Measure(const hr::Env& env, const Method& method) {
  Factors out;
  for (const Shape& shape : method.shapes) {
    auto options = Sized<hr_session_options>();
    options.pin = method.pin;
    const hr::Model model = ModelOf(env, shape);
    const hr::Session session(model, options);
    hr::Call call(session, "infer");
    const std::vector<float> x(
        static_cast<size_t>(shape.batch * shape.channels * shape.size * shape.size), 0.5F);
    call.bind("x",
              hr::Tensor::copy_of(env, {shape.batch, shape.channels, shape.size, shape.size}, x));
    const Json choice = ChoiceOf(call);
    if (choice["method"] != method.name) continue;  // this build or machine has none
    const Times times = TimesOf(call);
    out.method.push_back(times.conv / choice["passes_us"].get<double>());
    if (choice["copies_us"] != 0) {
      out.copies.push_back(times.copies / choice["copies_us"].get<double>());
    }
  }
  return out;
}

// FNV-1a, as the library checks it.
uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string LineOf(const std::string& name, double factor) {
  char line[80];
  std::snprintf(line, sizeof line, "%s %.3f\n", name.c_str(), std::clamp(factor, 0.01, 100.0));
  return line;
}

}  // namespace

void MeasureCosts(const std::string& path) {
  const hr::Env env(1);
  const Json described = Described(hr_env_describe, env.get());
  if (described["devices"].empty()) throw Failure("this build has no CPU backend to measure");
  std::string text = "headrace costs 1\nmachine " +
                     described["devices"][0]["description"].get<std::string>() + "\n";
  std::vector<std::vector<std::string>> rows = {{"method", "time over the model's"}};
  std::vector<double> copies;
  const auto add = [&](const std::string& name, const std::vector<double>& factors) {
    if (factors.empty()) return;
    const std::string line = LineOf(name, MedianOf(factors));
    text += line;
    rows.push_back({name, line.substr(name.size() + 1, line.size() - name.size() - 2)});
  };
  for (const Method& method : Methods()) {
    const Factors factors = Measure(env, method);
    add(method.name, factors.method);
    copies.insert(copies.end(), factors.copies.begin(), factors.copies.end());
  }
  add("copies", copies);
  char check[40];
  std::snprintf(check, sizeof check, "check %016" PRIx64 "\n", HashOf(text));
  WriteText(path, text + check);
  PrintTable(rows, 2);
}

}  // namespace headrace::tool
