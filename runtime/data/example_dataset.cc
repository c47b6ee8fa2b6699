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

  int64_t BatchesToRead() const;
  Status ReadBatches(int64_t count, const CallLimits& limits);

  Draw draw_;
  ExampleOrder order_;
  std::vector<TensorRing> rings_;
  Dims dims_;  // of the tensor being taken
  // Batches that were read at once, of which the last `left_` were not delivered yet.
  std::vector<Tensor> read_;
  size_t left_ = 0;
};

// Whole batches, as far as the epoch has some. Those of a shard are not neighbours.
int64_t ExampleDataset::BatchesToRead() const {
  if (draw_.batch.shard.count > 1) return 1;
  const int64_t whole = (position_.size - position_.example) / draw_.batch.batch;
  return std::clamp<int64_t>(draw_.source->BatchesAtOnce(draw_.batch.batch), 1,
                             std::max<int64_t>(whole, 1));
}

Status ExampleDataset::ReadBatches(int64_t count, const CallLimits& limits) {
  const ExampleRange one = GlobalBatch(draw_.batch, position_);
  ExampleRange part = PartOf(one, draw_.batch.shard);
  const int64_t batch = part.count;
  part.count *= count;
  HR_ASSIGN_OR_RETURN(const std::span<const int64_t> rows, order_.Rows(position_, part));
  read_.resize(static_cast<size_t>(count) * rings_.size());
  for (size_t i = 0; i < read_.size(); ++i) {
    const size_t field = i % rings_.size();
    dims_ = declared()[field].dims;
    dims_[0] = batch;
    HR_RETURN_IF_ERROR(rings_[field].Take(dims_, &read_[i]));
  }
  HR_RETURN_IF_ERROR(draw_.source->ReadBatches(
      rows, static_cast<size_t>(std::max<int64_t>(batch, 1)), read_, limits));
  left_ = static_cast<size_t>(count);
  return {};
}

Result<bool> ExampleDataset::DoNext(std::span<Tensor> out, const CallLimits& limits) {
  if (PassIsOver(draw_.batch, position_)) return false;
  if (left_ == 0) {
    const int64_t count = BatchesToRead();
    const bool together = count > 1 && ReadBatches(count, limits).ok();
    // A failure is that of the batch that has it.
    if (!together) HR_RETURN_IF_ERROR(ReadBatches(1, limits));
  }
  std::ranges::copy(std::span(read_).last(left_ * rings_.size()).first(rings_.size()), out.begin());
  --left_;
  Advance(draw_.batch, GlobalBatch(draw_.batch, position_).count, &position_);
  return true;
}

Status ExampleDataset::DoSeek(const DataPosition& position, const CallLimits&) {
  HR_RETURN_IF_ERROR(CheckPosition(position, draw_.source->examples()));
  left_ = 0;
  position_ = position;
  Advance(draw_.batch, 0, &position_);  // other batches may leave more of an epoch out
  return {};
}

Status ExampleDataset::DoReshard(const Shard& shard, const CallLimits&) {
  BatchOptions batch = draw_.batch;
  batch.shard = shard;
  HR_RETURN_IF_ERROR(CheckBatchOptions(batch, draw_.source->examples()));
  left_ = 0;
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
  int64_t prefetch = draw.prefetch;
  // What is read at once lies in memory anyway, and is handed over at once.
  if (prefetch > 0) prefetch = std::max(prefetch, draw.source->BatchesAtOnce(draw.batch.batch));
  auto dataset = std::make_unique<ExampleDataset>(std::move(draw), allocator);
  if (prefetch == 0) return std::unique_ptr<Dataset>(std::move(dataset));
  return CreatePrefetchDataset(std::move(dataset), prefetch);
}

}  // namespace hr::data
