#include "tools/headrace/test_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tools/headrace/errors.h"
#include "tools/headrace/feeds.h"
#include "tools/headrace/output.h"
#include "tools/headrace/values.h"

namespace headrace::tool {
namespace {

namespace fs = std::filesystem;

constexpr double kHalvesAre = 100;  // times less precise

struct Vector {
  std::string name;
  hr::Tensor tensor;
};

Vector LoadVector(const hr::Env& env, const fs::path& path) {
  hr_tensor* tensor;
  hr_text* name;
  hr::check(hr_tensor_load(env.get(), path.c_str(), &tensor, &name));
  return {hr::detail::take(name), hr::Tensor(tensor)};
}

// input_0.pb, input_1.pb, … as far as there are any.
std::vector<Vector> LoadVectors(const hr::Env& env, const fs::path& folder, const char* kind) {
  std::vector<Vector> out;
  while (true) {
    const fs::path path = folder / (kind + std::to_string(out.size()) + ".pb");
    if (!fs::exists(path)) return out;
    out.push_back(LoadVector(env, path));
  }
}

bool IsSet(const fs::path& folder) { return fs::exists(folder / "output_0.pb"); }

std::vector<fs::path> SetsIn(const fs::path& folder) {
  std::vector<fs::path> out;
  if (IsSet(folder)) out.push_back(folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsSet(entry.path())) out.push_back(entry.path());
  }
  if (error) throw Failure("cannot read the folder '" + folder.string() + "': " + error.message());
  if (out.empty()) {
    throw Failure("'" + folder.string() +
                  "' has no test vectors; expected input_0.pb … and "
                  "output_0.pb … in it, or in folders in it");
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The vector of port `i`: the one of its name, else the one in its place.
const Vector* Find(const std::vector<Vector>& vectors, const std::string& name, size_t i) {
  for (const Vector& vector : vectors) {
    if (vector.name == name) return &vector;
  }
  return i < vectors.size() ? &vectors[i] : nullptr;
}

bool IsFloating(hr_dtype dtype) {
  return dtype == HR_FLOAT32 || dtype == HR_FLOAT64 || dtype == HR_FLOAT16 || dtype == HR_BFLOAT16;
}

// Compared by value, in which there are many NaN and two zeros; all others must be the same.
bool IsFloat8(hr_dtype dtype) { return dtype >= HR_FLOAT8E4M3FN && dtype <= HR_FLOAT8E5M2FNUZ; }
bool IsHalf(hr_dtype dtype) { return dtype == HR_FLOAT16 || dtype == HR_BFLOAT16; }

double ErrorOf(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double error = std::abs(got - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

void Measure(const hr::Tensor& got, const hr::Tensor& expected, OutputCheck* check) {
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double wanted = ElementAt(expected, i);
    if (std::isfinite(wanted)) check->scale = std::max(check->scale, std::abs(wanted));
    check->error = std::max(check->error, ErrorOf(ElementAt(got, i), wanted));
  }
}

OutputCheck Compare(const hr::Tensor& got, const hr::Tensor& expected, double tolerance) {
  OutputCheck check{.type = TypeText(got)};
  if (TypeText(got) != TypeText(expected)) {
    check.problem = "expected " + TypeText(expected);
    return check;
  }
  Measure(got, expected, &check);
  const double most = tolerance * (IsHalf(got.dtype()) ? kHalvesAre : 1) * check.scale;
  // Integers of 64 bits are more than a double can tell apart.
  const bool equal = got.bytes() == 0 ||
                     std::memcmp(got.data<char>(), expected.data<char>(), expected.bytes()) == 0;
  if (IsFloat8(got.dtype())     ? check.error > 0
      : IsFloating(got.dtype()) ? check.error > most
                                : !equal)
    check.problem = "differs";
  return check;
}

class Checker {
 public:
  Checker(const hr::Env& env, const hr::Session& session, const Json& signature, double tolerance)
      : env_(env), session_(session), signature_(signature), tolerance_(tolerance) {}

  void Run(const fs::path& set, std::vector<OutputCheck>* out) {
    hr::Call call(session_, signature_["name"]);
    const auto inputs = LoadVectors(env_, set, "input_");
    size_t i = 0;
    for (const Json& port : signature_["inputs"]) {
      call.bind(port["name"], Get(inputs, port["name"], i++, "input", set).tensor);
    }
    call.run();
    const auto outputs = LoadVectors(env_, set, "output_");
    i = 0;
    for (const Json& port : signature_["outputs"]) {
      const std::string name = port["name"];
      const Vector& expected = Get(outputs, name, i++, "output", set);
      OutputCheck check = Compare(call.result(name), expected.tensor, tolerance_);
      check.set = set.filename().string();
      check.output = name;
      out->push_back(std::move(check));
    }
  }

 private:
  static const Vector& Get(const std::vector<Vector>& vectors, const std::string& name, size_t i,
                           const char* kind, const fs::path& set) {
    if (const Vector* vector = Find(vectors, name, i)) return *vector;
    throw Failure("'" + set.string() + "' has no vector for the " + kind + " '" + name + "'");
  }

  const hr::Env& env_;
  const hr::Session& session_;
  const Json& signature_;
  const double tolerance_;
};

}  // namespace

std::vector<OutputCheck> CheckVectors(const hr::Env& env, const std::string& path,
                                      const std::string& signature, const std::string& folder,
                                      double tolerance) {
  const auto sets = SetsIn(folder);
  const hr::Model model = hr::Model::load(env, path);
  const Json described = Described(hr_model_describe, model.get());
  const hr::Session session(model);
  Checker checker(env, session, FindSignature(described, signature), tolerance);
  std::vector<OutputCheck> out;
  for (const fs::path& set : sets) checker.Run(set, &out);
  return out;
}

bool ReportChecks(const std::vector<OutputCheck>& checks, bool print) {
  bool good = true;
  for (const OutputCheck& check : checks) {
    good = good && check.problem.empty();
    if (!print) continue;
    Print("%s %s  %s %s: largest error %.3g of %.3g%s%s\n", check.problem.empty() ? "ok " : "BAD",
          check.set.c_str(), check.output.c_str(), check.type.c_str(), check.error, check.scale,
          check.problem.empty() ? "" : ", ", check.problem.c_str());
  }
  return good;
}

Json ChecksJson(const std::vector<OutputCheck>& checks) {
  Json out = Json::array();
  for (const OutputCheck& check : checks) {
    out.push_back({{"set", check.set},
                   {"output", check.output},
                   {"type", check.type},
                   {"largest_error", check.error},
                   {"scale", check.scale},
                   {"as_expected", check.problem.empty()},
                   {"problem", check.problem}});
  }
  return out;
}

}  // namespace headrace::tool
