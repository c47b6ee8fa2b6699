#include "runtime/data/example_dataset.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/data/example_order.h"
#include "runtime/data/prefetch_dataset.h"
#include "runtime/data/tensor_ring.h"

namespace hr::data {
namespace {

std::vector<Field> BatchFields(const ExampleSource& source, int64_t batch) {
  std::vector<Field> fields = source.fields();
  for (Field& field : fields) field.dims.insert(field.dims.begin(), batch);
  return fields;
}

class ExampleDataset final : public Dataset {
 public:
  ExampleDataset(Draw draw, Allocator& allocator)
      : Dataset(BatchFields(*draw.source, draw.batch.batch), {.seed = draw.batch.seed,
                                                              .shuffle = draw.batch.shuffle,
                                                              .size = draw.source->examples()}),
        draw_(std::move(draw)),
        order_(allocator, position_.size) {
    for (const Field& field : declared()) rings_.emplace_back(allocator, field.dtype);
  }

  std::optional<int64_t> size() const override {
    return BatchesOfEpoch(draw_.batch, draw_.source->examples());
  }
  const Draw* draw() const override { return &draw_; }

 private:
  Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) override;
  Result<bool> DoDone(const CallLimits&) override { return PassIsOver(draw_.batch, position_); }
  Status DoSeek(const DataPosition& position, const CallLimits& limits) override;
  Status DoReshard(const Shard& shard, const CallLimits& limits) override;

  Draw draw_;
  ExampleOrder order_;
  std::vector<TensorRing> rings_;
  Dims dims_;  // of the tensor being taken
};

Result<bool> ExampleDataset::DoNext(std::span<Tensor> out, const CallLimits& limits) {
  if (PassIsOver(draw_.batch, position_)) return false;
  const ExampleRange whole = GlobalBatch(draw_.batch, position_);
  HR_ASSIGN_OR_RETURN(const std::span<const int64_t> rows,
                      order_.Rows(position_, PartOf(whole, draw_.batch.shard)));
  for (size_t i = 0; i < rings_.size(); ++i) {
    dims_ = declared()[i].dims;
    dims_[0] = static_cast<int64_t>(rows.size());
    HR_RETURN_IF_ERROR(rings_[i].Take(dims_, &out[i]));
  }
  HR_RETURN_IF_ERROR(draw_.source->Read(rows, out, limits));
  Advance(draw_.batch, whole.count, &position_);
  return true;
}

Status ExampleDataset::DoSeek(const DataPosition& position, const CallLimits&) {
  HR_RETURN_IF_ERROR(CheckPosition(position, draw_.source->examples()));
  position_ = position;
  Advance(draw_.batch, 0, &position_);  // other batches may leave more of an epoch out
  return {};
}

Status ExampleDataset::DoReshard(const Shard& shard, const CallLimits&) {
  BatchOptions batch = draw_.batch;
  batch.shard = shard;
  HR_RETURN_IF_ERROR(CheckBatchOptions(batch, draw_.source->examples()));
  draw_.batch = batch;
  Advance(draw_.batch, 0, &position_);  // other batches may leave more of an epoch out
  return {};
}

Status CheckNames(const std::vector<Field>& fields) {
  std::vector<std::string_view> names;
  for (const Field& field : fields) {
    if (std::ranges::find(names, field.name) != names.end())
      return InvalidArgument("two fields of the data set are called '", field.name, "'");
    names.push_back(field.name);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Dataset>> CreateExampleDataset(Draw draw, Allocator& allocator) {
  if (draw.source->examples() == 0)
    return InvalidArgument("the data set has no examples, expected at least one");
  HR_RETURN_IF_ERROR(CheckNames(draw.source->fields()));
  HR_RETURN_IF_ERROR(CheckBatchOptions(draw.batch, draw.source->examples()));
  const int64_t prefetch = draw.prefetch;
  auto dataset = std::make_unique<ExampleDataset>(std::move(draw), allocator);
  if (prefetch == 0) return std::unique_ptr<Dataset>(std::move(dataset));
  return CreatePrefetchDataset(std::move(dataset), prefetch);
}

}  // namespace hr::data
