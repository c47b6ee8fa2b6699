#include <algorithm>
#include <numeric>

#include "runtime/base/errors.h"
#include "runtime/data/example_dataset.h"
#include "runtime/data/graph_map.h"
#include "runtime/data/selection.h"

namespace hr::data {
namespace {

constexpr int64_t kBatch = 256;  // examples that are judged at a time

class FilterSource final : public ExampleSource {
 public:
  FilterSource(SourceRef source, Selection selection, std::string identity)
      : ExampleSource(source->fields(), selection.count()),
        source_(std::move(source)),
        selection_(std::move(selection)),
        identity_(std::move(identity)) {}

  Status Read(std::span<const int64_t> rows, std::span<const Tensor> out,
              const CallLimits& limits) const override {
    std::vector<int64_t> chosen;
    chosen.reserve(rows.size());
    for (const int64_t row : rows) chosen.push_back(selection_.At(row));
    return source_->Read(chosen, out, limits);
  }
  std::string Identity() const override { return identity_; }

 private:
  const SourceRef source_;
  const Selection selection_;
  const std::string identity_;
};

// The number of the field that says which examples stay.
Result<size_t> FindAnswer(const std::vector<Field>& mapped, const graph::Signature& signature) {
  if (signature.outputs.size() == 1) {
    const Field& answer = mapped.back();
    if (answer.dtype == DType::kBool && ElementCount(answer.dims) == 1) return mapped.size() - 1;
    return InvalidArgument("signature '", signature.name, "' gives ", DTypeName(answer.dtype),
                           ShapeText(answer.dims), " for an example; a filter must give one bool");
  }
  return InvalidArgument("signature '", signature.name, "' has ", signature.outputs.size(),
                         " outputs; a filter must have one");
}

Result<Selection> Judge(SourceRef mapped, size_t answer, Allocator& allocator,
                        const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto all,
                      CreateExampleDataset({std::move(mapped), {.batch = kBatch}}, allocator));
  Selection selection;
  std::vector<Tensor> batch(all->field_count());
  while (true) {
    HR_ASSIGN_OR_RETURN(const bool more, all->Next(batch, limits));
    if (!more) return selection;
    for (const bool stays : batch[answer].span<bool>()) selection.Add(stays);
  }
}

}  // namespace

Result<SourceRef> CreateFilterSource(SourceRef source, const GraphStep& step, Allocator& allocator,
                                     const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const graph::Signature* signature,
                      step.session->model().FindSignature(step.signature));
  HR_ASSIGN_OR_RETURN(SourceRef mapped, CreateMapSource(source, step, allocator, limits));
  HR_ASSIGN_OR_RETURN(const size_t answer, FindAnswer(mapped->fields(), *signature));
  HR_ASSIGN_OR_RETURN(Selection selection, Judge(std::move(mapped), answer, allocator, limits));
  if (selection.count() == 0) {
    return InvalidArgument("signature '", step.signature, "' leaves no example of ",
                           source->examples());
  }
  const std::string inner = source->Identity();
  std::string identity;
  if (!inner.empty() && !step.identity.empty())
    identity = Cat(inner, "filter by '", step.signature, "' of ", step.identity, "\n");
  return SourceRef(new FilterSource(std::move(source), std::move(selection), std::move(identity)));
}

}  // namespace hr::data
