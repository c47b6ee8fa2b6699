// Branches and loops: bodies that are evaluated as graphs of their own.
#include <cmath>

#include "tests/reference/evaluator.h"
#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

std::vector<Array> RunBody(const Call& call, Literal attribute, std::vector<Array> inputs) {
  const auto* body = std::get_if<graph::GraphIndex>(call.node.Find(attribute));
  auto outputs = EvaluateBody(call.module, body->index, inputs);
  if (!outputs.ok()) Fail(outputs.status().ToString());
  return std::move(outputs).value();
}

void If(Call& call) {
  std::vector<Array> captured;
  for (size_t i = 1; i < call.inputs.size(); ++i) captured.push_back(call.In(i));
  const bool condition = call.In(0).data[0] != 0;
  auto outputs = RunBody(call, condition ? Literal("then_branch") : Literal("else_branch"),
                         std::move(captured));
  for (size_t i = 0; i < outputs.size(); ++i) call.Out(i, std::move(outputs[i]));
}

Array Number0(DType dtype, Number value) {
  Array out(dtype, {});
  out.data[0] = value;
  return out;
}

void Loop(Call& call) {
  const auto captured = static_cast<size_t>(call.Int("captured", 0));
  const size_t states = call.inputs.size() - 2 - captured;
  const Number trips = call.Scalar(0, INFINITY);
  bool go = call.Scalar(1, 1) != 0;
  std::vector<Array> carried, scans;
  for (size_t i = 0; i < states; ++i) carried.push_back(call.In(2 + i));
  std::vector<std::vector<Array>> rows(call.outputs.size() - states);
  for (int64_t step = 0; go && static_cast<Number>(step) < trips; ++step) {
    std::vector<Array> inputs = {Number0(DType::kInt64, static_cast<Number>(step)),
                                 Number0(DType::kBool, 1)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (size_t i = 0; i < captured; ++i) inputs.push_back(call.In(2 + states + i));
    auto outputs = RunBody(call, "body", std::move(inputs));
    go = outputs[0].data[0] != 0;
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(states));
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(outputs[1 + states + i]);
  }
  for (size_t i = 0; i < states; ++i) call.Out(i, carried[i]);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) Fail("a loop without iterations has scans of unknown shape");
    Dims dims = rows[i][0].dims;
    dims.insert(dims.begin(), static_cast<int64_t>(rows[i].size()));
    Array joined(rows[i][0].dtype, dims);
    joined.data.clear();
    for (const Array& row : rows[i]) {
      joined.data.insert(joined.data.end(), row.data.begin(), row.data.end());
    }
    call.Out(states + i, std::move(joined));
  }
}

const Entry kControlEntries[] = {{"", "If", If}, {"", "Loop", Loop}};

}  // namespace

std::span<const Entry> ControlFunctions() { return kControlEntries; }

}  // namespace hr::reference
