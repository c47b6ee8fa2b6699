#include "runtime/train/memory_dataset.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/train/permutation.h"
#include "runtime/train/tensor_ring.h"

namespace hr::train {
namespace {

class MemoryDataset final : public Dataset {
 public:
  MemoryDataset(std::vector<Column> columns, const BatchOptions& options, Block order,
                Allocator& allocator);

  const std::vector<Field>& fields() const override { return fields_; }
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override;
  bool done() override {
    return options_.repeat != kRepeatForever &&
           position_.epoch - position_.first_epoch >= options_.repeat;
  }
  std::optional<int64_t> size() const override;
  Status Rewind() override;
  DataPosition position() const override { return position_; }
  Status Seek(const DataPosition& position) override;

 private:
  std::span<const int64_t> Rows(int64_t count);
  void Gather(const Column& column, std::span<const int64_t> rows, const Tensor& out) const;
  void EndEpochIfOver();

  std::vector<Column> columns_;
  BatchOptions options_;
  std::vector<Field> fields_;
  std::vector<TensorRing> rings_;
  Dims dims_;  // of the tensor being filled
  DataPosition position_;
  Block order_memory_;
  std::span<int64_t> order_;
  int64_t order_epoch_ = -1;  // -1: order_ is not filled yet
};

MemoryDataset::MemoryDataset(std::vector<Column> columns, const BatchOptions& options, Block order,
                             Allocator& allocator)
    : columns_(std::move(columns)), options_(options), order_memory_(std::move(order)) {
  position_.seed = options.seed;
  position_.shuffle = options.shuffle;
  position_.size = columns_[0].data.dims()[0];
  order_ = {static_cast<int64_t*>(order_memory_.data()), static_cast<size_t>(position_.size)};
  for (const Column& column : columns_) {
    DType dtype = column.map.empty() ? column.data.dtype() : DType::kFloat32;
    Dims dims = column.example_dims;
    dims.insert(dims.begin(), options.batch);
    fields_.push_back({column.name, dtype, std::move(dims)});
    rings_.emplace_back(allocator, dtype);
  }
}

std::optional<int64_t> MemoryDataset::size() const {
  int64_t whole = position_.size / options_.batch;
  bool partial = position_.size % options_.batch != 0 && !options_.drop_remainder;
  return whole + (partial ? 1 : 0);
}

Result<bool> MemoryDataset::Next(std::span<Tensor> out, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckBatchSpan(fields_, out));
  HR_RETURN_IF_ERROR(limits.Check());
  if (done()) return false;
  int64_t count = std::min(options_.batch, position_.size - position_.index);
  std::span<const int64_t> rows = Rows(count);
  for (size_t i = 0; i < columns_.size(); ++i) {
    dims_ = fields_[i].dims;
    dims_[0] = count;
    HR_RETURN_IF_ERROR(rings_[i].Take(dims_, &out[i]));
    Gather(columns_[i], rows, out[i]);
  }
  position_.index += count;
  EndEpochIfOver();
  return true;
}

std::span<const int64_t> MemoryDataset::Rows(int64_t count) {
  if (order_epoch_ != position_.epoch) {
    if (position_.shuffle) {
      ShuffledOrder(position_.seed, static_cast<uint64_t>(position_.epoch), order_);
    } else if (order_epoch_ < 0) {
      for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
    }
    order_epoch_ = position_.epoch;
  }
  return order_.subspan(static_cast<size_t>(position_.index), static_cast<size_t>(count));
}

void MemoryDataset::Gather(const Column& column, std::span<const int64_t> rows,
                           const Tensor& out) const {
  size_t elements = static_cast<size_t>(ElementCount(column.example_dims));
  if (column.map.empty()) {
    size_t bytes = elements * DTypeSize(column.data.dtype());
    for (size_t i = 0; bytes != 0 && i < rows.size(); ++i) {
      std::memcpy(out.data() + i * bytes, column.data.data() + static_cast<size_t>(rows[i]) * bytes,
                  bytes);
    }
    return;
  }
  const float* map = column.map.data();
  float* to = out.as<float>();
  for (int64_t row : rows) {
    const uint8_t* from = column.data.as<uint8_t>() + static_cast<size_t>(row) * elements;
    for (size_t i = 0; i < elements; ++i) *to++ = map[from[i]];
  }
}

void MemoryDataset::EndEpochIfOver() {
  int64_t left = position_.size - position_.index;
  if (left > 0 && !(options_.drop_remainder && left < options_.batch)) return;
  ++position_.epoch;
  position_.index = 0;
}

Status MemoryDataset::Rewind() {
  position_ = NextPass(position_);
  return {};
}

Status MemoryDataset::Seek(const DataPosition& position) {
  HR_RETURN_IF_ERROR(CheckPosition(position, position_.size));
  position_ = position;
  order_epoch_ = -1;
  EndEpochIfOver();  // the batch size may have changed since the position was saved
  return {};
}

Status CheckColumn(const Column& column, int64_t examples) {
  const Tensor& data = column.data;
  if (!data.defined() || data.dims().empty()) {
    return InvalidArgument("field '", column.name,
                           "' needs a tensor with a dimension 0 that counts the examples");
  }
  if (data.device().type == DeviceType::kCuda || !data.contiguous()) {
    return InvalidArgument("field '", column.name, "' needs a contiguous tensor on the CPU");
  }
  if (data.dims()[0] != examples) {
    return InvalidArgument("field '", column.name, "' has ", data.dims()[0],
                           " examples, the first field has ", examples);
  }
  Dims dims = column.example_dims;
  dims.insert(dims.begin(), examples);
  HR_ASSIGN_OR_RETURN(int64_t elements, CheckedElementCount(dims));
  if (elements != data.elements()) {
    return InvalidArgument("field '", column.name, "': examples of shape ",
                           ShapeText(column.example_dims), " cannot come from ", data.TypeText());
  }
  if (!column.map.empty() && (column.map.size() != 256 || data.dtype() != DType::kUint8)) {
    return InvalidArgument("field '", column.name, "': a map takes uint8 to 256 values, got ",
                           data.TypeText(), " and ", column.map.size(), " values");
  }
  return {};
}

Status CheckOptions(const BatchOptions& options, int64_t examples) {
  if (options.batch < 1)
    return InvalidArgument("expected a batch of at least 1, got ", options.batch);
  if (options.repeat < 1 && options.repeat != kRepeatForever) {
    return InvalidArgument("expected to repeat at least 1 time, got ", options.repeat);
  }
  if (options.drop_remainder && options.batch > examples) {
    return InvalidArgument("a batch of ", options.batch, " with drop_remainder leaves nothing of ",
                           examples, " examples; use a smaller batch");
  }
  return {};
}

}  // namespace

Column ColumnOf(std::string name, Tensor data) {
  Column column{std::move(name), std::move(data), {}, {}};
  const Dims& dims = column.data.dims();
  if (!dims.empty()) column.example_dims.assign(dims.begin() + 1, dims.end());
  return column;
}

Result<std::unique_ptr<Dataset>> CreateMemoryDataset(std::vector<Column> columns,
                                                     const BatchOptions& options,
                                                     Allocator& allocator) {
  if (columns.empty()) return InvalidArgument("a data set needs at least one field");
  const Tensor& first = columns[0].data;
  int64_t examples = first.defined() && !first.dims().empty() ? first.dims()[0] : 0;
  for (const Column& column : columns) HR_RETURN_IF_ERROR(CheckColumn(column, examples));
  if (examples == 0) return InvalidArgument("the data set has no examples, expected at least one");
  HR_RETURN_IF_ERROR(CheckOptions(options, examples));
  HR_ASSIGN_OR_RETURN(Block order, Block::Create(allocator, static_cast<size_t>(examples) * 8));
  return std::unique_ptr<Dataset>(
      new MemoryDataset(std::move(columns), options, std::move(order), allocator));
}

}  // namespace hr::train
