#include "runtime/session/containers.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/ops/infer.h"

namespace hr::session {
namespace {

using Inputs = std::span<const RunValue* const>;
using Elements = std::vector<Tensor>;

// One node while it is computed.
struct NodeRun {
  Allocator& allocator;
  const graph::Node& node;
  Inputs inputs;

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Elements& elements() const { return *inputs[0]->sequence; }
  DType dtype() const { return inputs[0]->dtype; }
};

Result<int64_t> Position(const RunValue& value) {
  const auto given = ops::IntsOf(value.tensor);
  if (given && given->size() == 1) return (*given)[0];
  return InvalidArgument("a position in a sequence is one integer, got ", value.tensor.TypeText());
}

// A position within [0, count), counted from the end if it is negative.
Result<size_t> ElementAt(const NodeRun& run, size_t input, size_t count) {
  HR_ASSIGN_OR_RETURN(const int64_t given, Position(*run.inputs[input]));
  const int64_t at = given < 0 ? given + static_cast<int64_t>(count) : given;
  if (at >= 0 && at < static_cast<int64_t>(count)) return static_cast<size_t>(at);
  return OutOfRange("position ", given, " of a sequence that has ", count, " elements");
}

Result<RunValue> Construct(const NodeRun& run) {
  Elements elements;
  for (const RunValue* input : run.inputs) elements.push_back(input->tensor);
  return RunValue::Sequence(run.dtype(), std::move(elements));
}

DType DTypeOf(const graph::Node& node) {
  return static_cast<DType>(node.Int("dtype", static_cast<int64_t>(DType::kFloat32)));
}

Result<RunValue> Empty(const NodeRun& run) { return RunValue::Sequence(DTypeOf(run.node), {}); }

Result<RunValue> Insert(const NodeRun& run) {
  Elements elements = run.elements();
  size_t at = elements.size();
  // Behind the last one is a place to insert at, too.
  if (run.has(2)) {
    HR_ASSIGN_OR_RETURN(const int64_t given, Position(*run.inputs[2]));
    const auto count = static_cast<int64_t>(elements.size());
    const int64_t wanted = given < 0 ? given + count : given;
    if (wanted < 0 || wanted > count) {
      return OutOfRange("position ", given, " to insert at, in a sequence that has ", count,
                        " elements");
    }
    at = static_cast<size_t>(wanted);
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), run.inputs[1]->tensor);
  return RunValue::Sequence(run.dtype(), std::move(elements));
}

Result<RunValue> Erase(const NodeRun& run) {
  Elements elements = run.elements();
  if (elements.empty()) return OutOfRange("there is nothing to erase in an empty sequence");
  size_t at = elements.size() - 1;
  if (run.has(1)) {
    HR_ASSIGN_OR_RETURN(at, ElementAt(run, 1, elements.size()));
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return RunValue::Sequence(run.dtype(), std::move(elements));
}

Result<RunValue> At(const NodeRun& run) {
  HR_ASSIGN_OR_RETURN(size_t at, ElementAt(run, 1, run.elements().size()));
  return RunValue::Of(run.elements()[at]);
}

template <typename T>
Result<RunValue> Scalar(const NodeRun& run, T value) {
  HR_ASSIGN_OR_RETURN(auto&& tensor,
                      MakeTensor<T>(run.allocator, {}, std::span<const T>(&value, 1)));
  return RunValue::Of(std::move(tensor));
}

Result<RunValue> Length(const NodeRun& run) {
  return Scalar(run, static_cast<int64_t>(run.elements().size()));
}

// A tensor as rows: `outer` of them, each with the axis and what lies inside it.
struct Rows {
  size_t outer = 1;
  size_t inner_bytes;  // of one step along the axis

  Rows(const Tensor& tensor, size_t axis) : inner_bytes(DTypeSize(tensor.dtype())) {
    for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(tensor.dims()[i]);
    for (size_t i = axis + 1; i < tensor.dims().size(); ++i)
      inner_bytes *= static_cast<size_t>(tensor.dims()[i]);
  }
};

// Copies `count` steps between a part of one tensor's axis and a part of another's.
void CopySteps(const Tensor& from, size_t from_at, const Tensor& to, size_t to_at, size_t axis,
               size_t count) {
  const Rows rows(from, axis);
  const size_t from_row = static_cast<size_t>(from.dims()[axis]) * rows.inner_bytes;
  const size_t to_row = static_cast<size_t>(to.dims()[axis]) * rows.inner_bytes;
  if (count * rows.inner_bytes == 0) return;
  for (size_t row = 0; row < rows.outer; ++row) {
    std::memcpy(to.data() + row * to_row + to_at * rows.inner_bytes,
                from.data() + row * from_row + from_at * rows.inner_bytes,
                count * rows.inner_bytes);
  }
}

Tensor WithDims(const Tensor& tensor, Dims dims) {
  const size_t offset = static_cast<size_t>(tensor.data() - tensor.buffer()->data());
  return Tensor::View(tensor.buffer(), offset, tensor.dtype(), std::move(dims)).value();
}

// The lengths into which an axis is split.
Result<std::vector<int64_t>> Lengths(const NodeRun& run, int64_t size) {
  if (!run.has(1)) return std::vector<int64_t>(static_cast<size_t>(size), 1);
  const Tensor& given = run.inputs[1]->tensor;
  const auto values = *ops::IntsOf(given);
  if (!given.dims().empty()) {
    int64_t sum = 0;
    for (int64_t value : values) {
      if (value < 0 || value > size - sum) sum = size + 1;  // too much in any case
      if (sum <= size) sum += value;
    }
    if (sum == size) return values;
    return InvalidArgument("the lengths of a split add up to the axis, ", size, ", got ",
                           Dims(values.begin(), values.end()));
  }
  if (values[0] <= 0) return InvalidArgument("a split has parts of 1 or more, got ", values[0]);
  std::vector<int64_t> out;
  for (int64_t at = 0; at < size; at += values[0]) out.push_back(std::min(values[0], size - at));
  return out;
}

Result<RunValue> Split(const NodeRun& run) {
  const Tensor& tensor = run.inputs[0]->tensor;
  const auto rank = static_cast<int64_t>(tensor.dims().size());
  HR_ASSIGN_OR_RETURN(int64_t axis, NormalizeAxis(run.node.Int("axis", 0), rank));
  const auto at = static_cast<size_t>(axis);
  HR_ASSIGN_OR_RETURN(auto&& lengths, Lengths(run, tensor.dims()[at]));
  const bool drop_axis = !run.has(1) && run.node.Int("keepdims", 1) == 0;
  Elements elements;
  size_t first = 0;
  for (int64_t length : lengths) {
    Dims dims = tensor.dims();
    dims[at] = length;
    HR_ASSIGN_OR_RETURN(auto&& part, Tensor::Create(run.allocator, tensor.dtype(), dims));
    CopySteps(tensor, first, part, 0, at, static_cast<size_t>(length));
    first += static_cast<size_t>(length);
    if (drop_axis) {
      dims.erase(dims.begin() + axis);
      part = WithDims(part, std::move(dims));
    }
    elements.push_back(std::move(part));
  }
  return RunValue::Sequence(tensor.dtype(), std::move(elements));
}

// Tensors that differ at most in the size of one axis.
Result<Tensor> Concat(Allocator& allocator, std::span<const Tensor> tensors, size_t axis) {
  Dims dims = tensors[0].dims();
  dims[axis] = 0;
  for (const Tensor& tensor : tensors) {
    Dims others = tensor.dims();
    const bool same_rank = others.size() == dims.size();
    const int64_t size = same_rank ? std::exchange(others[axis], dims[axis]) : 0;
    if (others != dims) {
      return InvalidArgument("tensors that are joined along axis ", axis,
                             " have the same other dimensions, got ", tensors[0].TypeText(),
                             " and ", tensor.TypeText());
    }
    dims[axis] += size;
  }
  HR_ASSIGN_OR_RETURN(auto&& out, Tensor::Create(allocator, tensors[0].dtype(), dims));
  size_t at = 0;
  for (const Tensor& tensor : tensors) {
    const auto count = static_cast<size_t>(tensor.dims()[axis]);
    CopySteps(tensor, 0, out, at, axis, count);
    at += count;
  }
  return out;
}

Result<RunValue> Join(const NodeRun& run) {
  Elements elements = run.elements();
  if (elements.empty()) {
    return InvalidArgument("ConcatFromSequence joins at least one tensor, the sequence is empty");
  }
  const bool new_axis = run.node.Int("new_axis", 0) != 0;
  const auto rank = static_cast<int64_t>(elements[0].dims().size()) + (new_axis ? 1 : 0);
  HR_ASSIGN_OR_RETURN(int64_t axis, NormalizeAxis(run.node.Int("axis", 0), rank));
  for (Tensor& element : elements) {
    if (!new_axis) break;
    if (element.dims().size() != static_cast<size_t>(rank) - 1) {
      return InvalidArgument("tensors that are joined have one rank, got ", elements[0].TypeText(),
                             " and ", element.TypeText());
    }
    Dims dims = element.dims();
    dims.insert(dims.begin() + axis, 1);
    element = WithDims(element, std::move(dims));
  }
  HR_ASSIGN_OR_RETURN(auto&& joined, Concat(run.allocator, elements, static_cast<size_t>(axis)));
  return RunValue::Of(std::move(joined));
}

Result<RunValue> Optional(const NodeRun& run) {
  return run.has(0) ? *run.inputs[0] : RunValue::Nothing(DTypeOf(run.node));
}

Result<RunValue> HasElement(const NodeRun& run) {
  return Scalar<bool>(run, run.has(0) && run.inputs[0]->kind() != graph::ValueKind::kOptional);
}

Result<RunValue> GetElement(const NodeRun& run) {
  if (run.inputs[0]->kind() != graph::ValueKind::kOptional) return *run.inputs[0];
  return FailedPrecondition("the optional is empty; ask OptionalHasElement first");
}

Result<RunValue> Identity(const NodeRun& run) { return *run.inputs[0]; }

struct Entry {
  std::string_view name;
  Result<RunValue> (*run)(const NodeRun&);
};
constexpr Entry kEntries[] = {{"SequenceConstruct", Construct},
                              {"SequenceEmpty", Empty},
                              {"SequenceInsert", Insert},
                              {"SequenceErase", Erase},
                              {"SequenceAt", At},
                              {"SequenceLength", Length},
                              {"SplitToSequence", Split},
                              {"ConcatFromSequence", Join},
                              {"Optional", Optional},
                              {"OptionalHasElement", HasElement},
                              {"OptionalGetElement", GetElement},
                              {"Identity", Identity}};

}  // namespace

Result<RunValue> RunContainerNode(Allocator& allocator, const graph::Operator& op,
                                  const graph::Node& node, Inputs inputs) {
  for (const Entry& entry : kEntries) {
    if (entry.name == op.name) return entry.run({allocator, node, inputs});
  }
  return Unimplemented("the session does not run ", op.name);
}

Result<Tensor> Stack(Allocator& allocator, std::span<const Tensor> tensors,
                     const graph::ValueType& step_type) {
  Dims dims;
  if (tensors.empty()) {
    for (const graph::Dim& dim : step_type.dims) dims.push_back(dim.fixed() ? dim.size : 0);
    dims.insert(dims.begin(), 0);
    return Tensor::Create(allocator, step_type.dtype, std::move(dims));
  }
  dims = tensors[0].dims();
  dims.insert(dims.begin(), static_cast<int64_t>(tensors.size()));
  HR_ASSIGN_OR_RETURN(auto&& out, Tensor::Create(allocator, tensors[0].dtype(), std::move(dims)));
  const size_t bytes = tensors[0].bytes();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dims() != tensors[0].dims()) {
      return InvalidArgument("what iterations give to one output has one shape, got ",
                             tensors[0].TypeText(), " and, in iteration ", i, ", ",
                             tensors[i].TypeText());
    }
    if (bytes != 0) std::memcpy(out.data() + i * bytes, tensors[i].data(), bytes);
  }
  return out;
}

}  // namespace hr::session
