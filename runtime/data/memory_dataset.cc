#include "runtime/data/memory_dataset.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/data/permutation.h"
#include "runtime/data/tensor_ring.h"

namespace hr::data {
namespace {

std::vector<Field> FieldsOf(const std::vector<Column>& columns, int64_t batch) {
  std::vector<Field> fields;
  for (const Column& column : columns) {
    Dims dims = column.example_dims;
    dims.insert(dims.begin(), batch);
    fields.push_back(
        {column.name, column.map.empty() ? column.data.dtype() : DType::kFloat32, std::move(dims)});
  }
  return fields;
}

class MemoryDataset final : public Dataset {
 public:
  MemoryDataset(std::vector<Column> columns, const BatchOptions& options, Block order,
                Allocator& allocator);

  std::optional<int64_t> size() const override { return BatchesOfEpoch(options_, examples_); }

 private:
  Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) override;
  Result<bool> DoDone(const CallLimits&) override { return PassIsOver(options_, position_); }
  Status DoSeek(const DataPosition& position, const CallLimits& limits) override;

  std::span<const int64_t> Rows(const ExampleRange& range);
  void Gather(const Column& column, std::span<const int64_t> rows, const Tensor& out) const;

  const std::vector<Column> columns_;
  const BatchOptions options_;
  const int64_t examples_;
  std::vector<TensorRing> rings_;
  Dims dims_;  // of the tensor being filled
  Block order_memory_;
  std::span<int64_t> order_;
  int64_t order_epoch_ = -1;  // -1: order_ is not filled yet
};

MemoryDataset::MemoryDataset(std::vector<Column> columns, const BatchOptions& options, Block order,
                             Allocator& allocator)
    : Dataset(
          FieldsOf(columns, options.batch),
          {.seed = options.seed, .shuffle = options.shuffle, .size = columns[0].data.dims()[0]}),
      columns_(std::move(columns)),
      options_(options),
      examples_(position_.size),
      order_memory_(std::move(order)),
      order_(static_cast<int64_t*>(order_memory_.data()), static_cast<size_t>(examples_)) {
  for (const Field& field : declared()) rings_.emplace_back(allocator, field.dtype);
}

Result<bool> MemoryDataset::DoNext(std::span<Tensor> out, const CallLimits&) {
  if (PassIsOver(options_, position_)) return false;
  const ExampleRange whole = GlobalBatch(options_, position_);
  std::span<const int64_t> rows = Rows(PartOf(whole, options_.shard));
  for (size_t i = 0; i < columns_.size(); ++i) {
    dims_ = declared()[i].dims;
    dims_[0] = static_cast<int64_t>(rows.size());
    HR_RETURN_IF_ERROR(rings_[i].Take(dims_, &out[i]));
    Gather(columns_[i], rows, out[i]);
  }
  Advance(options_, whole.count, &position_);
  return true;
}

std::span<const int64_t> MemoryDataset::Rows(const ExampleRange& range) {
  if (order_epoch_ != position_.epoch) {
    if (position_.shuffle) {
      ShuffledOrder(position_.seed, static_cast<uint64_t>(position_.epoch), order_);
    } else if (order_epoch_ < 0) {
      for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int64_t>(i);
    }
    order_epoch_ = position_.epoch;
  }
  return order_.subspan(static_cast<size_t>(range.first), static_cast<size_t>(range.count));
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

Status MemoryDataset::DoSeek(const DataPosition& position, const CallLimits&) {
  HR_RETURN_IF_ERROR(CheckPosition(position, examples_));
  if (position.shuffle != position_.shuffle || position.seed != position_.seed) order_epoch_ = -1;
  position_ = position;
  Advance(options_, 0, &position_);  // other batches may leave more of an epoch out
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
  HR_RETURN_IF_ERROR(CheckBatchOptions(options, examples));
  HR_ASSIGN_OR_RETURN(Block order, Block::Create(allocator, static_cast<size_t>(examples) * 8));
  return std::unique_ptr<Dataset>(
      new MemoryDataset(std::move(columns), options, std::move(order), allocator));
}

}  // namespace hr::data
