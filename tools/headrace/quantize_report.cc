#include "tools/headrace/quantize_report.h"

#include <algorithm>
#include <cmath>

#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"
#include "tools/headrace/values.h"

namespace headrace::tool {
namespace {

// What is summed up of one output.
struct Comparison {
  std::string name;
  double squares = 0, error_squares = 0, largest = 0;
  int64_t rows = 0, same = 0;
  bool single = true, classes = false;
  double before = 0, after = 0;
  int64_t batches = 0;

  void Add(const hr::Tensor& was, const hr::Tensor& is) {
    const std::vector<int64_t> dims = was.dims();
    if (dims != is.dims())
      throw Failure("output '" + name + "' had the type " + TypeText(was) + " and has now " +
                    TypeText(is));
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    for (int64_t i = 0; i < count; ++i) {
      const double x = ElementAt(was, i), error = ElementAt(is, i) - x;
      squares += x * x;
      error_squares += error * error;
      largest = std::max(largest, std::abs(error));
    }
    single = single && count == 1;
    ++batches;
    if (count == 1) before += ElementAt(was, 0), after += ElementAt(is, 0);
    if (!dims.empty() && dims.back() > 1) AddRows(was, is, count, dims.back());
  }

  Json ToJson(int64_t examples) const {
    Json out = {
        {"name", name},
        {"examples", examples},
        {"error", squares > 0 ? std::sqrt(error_squares / squares) : std::sqrt(error_squares)},
        {"largest_error", largest}};
    if (classes) out["same_largest"] = static_cast<double>(same) / static_cast<double>(rows);
    if (single) {
      out["before"] = before / static_cast<double>(batches);
      out["after"] = after / static_cast<double>(batches);
    }
    return out;
  }

 private:
  static int64_t LargestOf(const hr::Tensor& tensor, int64_t from, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i) {
      if (ElementAt(tensor, from + i) > ElementAt(tensor, from + best)) best = i;
    }
    return best;
  }
  void AddRows(const hr::Tensor& was, const hr::Tensor& is, int64_t count, int64_t width) {
    classes = true;
    for (int64_t at = 0; at < count; at += width) {
      ++rows;
      if (LargestOf(was, at, width) == LargestOf(is, at, width)) ++same;
    }
  }
};

void Bind(hr::Call& call, const Json& signature, const std::vector<std::string>& fields,
          const std::vector<hr::Tensor>& batch) {
  for (const Json& port : signature["inputs"]) {
    const std::string name = port["name"];
    const auto field = std::find(fields.begin(), fields.end(), name);
    if (field == fields.end())
      throw Failure("the data set has no field for input '" + name + "' (" +
                    port["type"].get<std::string>() + "); use --bind " + name + "=FIELD");
    call.bind(name, batch[static_cast<size_t>(field - fields.begin())]);
  }
}

}  // namespace

Json CompareModels(const hr::Model& before, const hr::Model& after, const Json& signature,
                   hr::Dataset& data) {
  const hr::Session first(before), second(after);
  hr::Call was(first, signature["name"]), is(second, signature["name"]);
  std::vector<Comparison> outputs;
  for (const Json& port : signature["outputs"]) outputs.push_back({.name = port["name"]});
  const std::vector<std::string> fields = data.fields();
  int64_t examples = 0;
  while (!data.done()) {
    const std::vector<hr::Tensor> batch = data.next();
    Bind(was, signature, fields, batch);
    Bind(is, signature, fields, batch);
    was.run();
    is.run();
    for (Comparison& output : outputs) output.Add(was.result(output.name), is.result(output.name));
    examples += batch[0].dims()[0];
  }
  if (examples == 0) throw Failure("--compare: the data set has no examples");
  Json out = Json::array();
  for (const Comparison& output : outputs) out.push_back(output.ToJson(examples));
  return out;
}

void PrintComparison(const Json& outputs) {
  for (const Json& output : outputs) {
    Print("%s: error %.3g of its size, %.3g at most in an element",
          output["name"].get<std::string>().c_str(), output["error"].get<double>(),
          output["largest_error"].get<double>());
    if (output.contains("same_largest")) {
      Print(", the same largest element in %.2f %%", 100 * output["same_largest"].get<double>());
    }
    if (output.contains("before")) {
      Print(", %.6g before, %.6g after", output["before"].get<double>(),
            output["after"].get<double>());
    }
    Print(" (%s)\n", CountText(output["examples"], "example").c_str());
  }
}

}  // namespace headrace::tool
