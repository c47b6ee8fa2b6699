#include "runtime/train/callback_dataset.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/train/tensor_ring.h"

namespace hr::train {
namespace {

bool AllKnown(const Dims& dims) {
  return std::ranges::none_of(dims, [](int64_t dim) { return dim < 0; });
}

Status CheckBatchTensor(const Field& field, const Tensor& tensor) {
  if (!tensor.defined()) {
    return InvalidArgument("the host's data set returned no tensor for field '", field.name, "'");
  }
  const Dims& dims = tensor.dims();
  bool fits = tensor.dtype() == field.dtype && dims.size() == field.dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    int64_t declared = field.dims[i];
    fits = declared < 0 || dims[i] == declared || (i == 0 && dims[i] < declared);
  }
  if (!fits) {
    return InvalidArgument("the host's data set declared field '", field.name, "' as ",
                           DTypeName(field.dtype), ShapeText(field.dims), ", its batch has ",
                           tensor.TypeText());
  }
  if (!tensor.contiguous() || tensor.device().type == DeviceType::kCuda) {
    return InvalidArgument("the host's data set must give contiguous tensors on the CPU (field '",
                           field.name, "')");
  }
  return {};
}

class CallbackDataset final : public Dataset {
 public:
  CallbackDataset(std::vector<Field> fields, const DatasetCallbacks& callbacks, int64_t repeat,
                  Allocator& allocator)
      : fields_(std::move(fields)), callbacks_(callbacks), repeat_(repeat) {
    for (const Field& field : fields_) rings_.emplace_back(allocator, field.dtype);
    ahead_.resize(fields_.size());
    position_.size = -1;
  }
  ~CallbackDataset() override {
    if (callbacks_.release != nullptr) callbacks_.release(callbacks_.context);
  }

  const std::vector<Field>& fields() const override { return fields_; }
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override;
  bool done() override;
  std::optional<int64_t> size() const override;
  Status Rewind() override { return Seek(NextPass(position_)); }
  DataPosition position() const override { return position_; }
  Status Seek(const DataPosition& position) override;

 private:
  Result<bool> Fetch();
  Result<bool> FetchOfEpoch();
  Status CheckCount(bool more);
  Status Reset(int64_t epoch);
  bool PassIsOver(int64_t epoch) const {
    return repeat_ != kRepeatForever && epoch - position_.first_epoch >= repeat_;
  }

  std::vector<Field> fields_;
  DatasetCallbacks callbacks_;
  int64_t repeat_;
  std::vector<TensorRing> rings_;
  DataPosition position_;
  // Where the host's functions stand.
  int64_t source_epoch_ = 0;
  int64_t fetched_ = 0;  // batches of this epoch
  // The end shows only when the next batch is asked for, so done() reads one ahead.
  std::vector<Tensor> ahead_;
  std::optional<Result<bool>> ahead_result_;
};

Result<bool> CallbackDataset::FetchOfEpoch() {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (AllKnown(fields_[i].dims)) {
      HR_RETURN_IF_ERROR(rings_[i].Take(fields_[i].dims, &ahead_[i]));
    } else {
      ahead_[i] = Tensor();
    }
  }
  HR_ASSIGN_OR_RETURN(bool more, callbacks_.next(callbacks_.context, ahead_));
  for (size_t i = 0; more && i < fields_.size(); ++i) {
    HR_RETURN_IF_ERROR(CheckBatchTensor(fields_[i], ahead_[i]));
  }
  if (more) ++fetched_;
  HR_RETURN_IF_ERROR(CheckCount(more));
  return more;
}

// Training on less than was promised would look like success.
Status CallbackDataset::CheckCount(bool more) {
  const int64_t expected = size().value_or(-1);
  if (expected < 0 || (more ? fetched_ <= expected : fetched_ == expected)) return {};
  return DataLoss("the host's data set declared ", expected, " batches, epoch ", source_epoch_,
                  more ? " has more" : Cat(" ended after ", fetched_),
                  "; deliver as many as declared, or declare -1 if the number is unknown");
}

// The next batch into ahead_, going on to the next epoch if one ends.
Result<bool> CallbackDataset::Fetch() {
  if (PassIsOver(source_epoch_)) return false;
  HR_ASSIGN_OR_RETURN(bool more, FetchOfEpoch());
  if (more) return true;
  if (fetched_ == 0 && repeat_ != 1) {
    return FailedPrecondition("the host's data set has no batch in epoch ", source_epoch_,
                              ", so it cannot be repeated");
  }
  if (PassIsOver(source_epoch_ + 1)) {
    ++source_epoch_;
    return false;
  }
  HR_RETURN_IF_ERROR(Reset(source_epoch_ + 1));
  return Fetch();
}

Status CallbackDataset::Reset(int64_t epoch) {
  if (callbacks_.reset == nullptr) {
    return FailedPrecondition("the host's data set has no reset function, so it is read once");
  }
  HR_RETURN_IF_ERROR(callbacks_.reset(callbacks_.context, epoch));
  source_epoch_ = epoch;
  fetched_ = 0;
  return {};
}

Result<bool> CallbackDataset::Next(std::span<Tensor> out, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckBatchSpan(fields_, out));
  HR_RETURN_IF_ERROR(limits.Check());
  if (!ahead_result_) ahead_result_ = Fetch();
  if (!ahead_result_->ok() || !**ahead_result_) {
    Result<bool> result = *std::move(ahead_result_);
    ahead_result_.reset();
    if (result.ok()) position_ = {.epoch = source_epoch_, .first_epoch = position_.first_epoch};
    return result;
  }
  ahead_result_.reset();
  std::ranges::copy(ahead_, out.begin());
  position_.index = source_epoch_ == position_.epoch ? position_.index + 1 : 1;
  position_.epoch = source_epoch_;
  if (position_.index == size()) position_ = {source_epoch_ + 1, 0, position_.first_epoch};
  return true;
}

bool CallbackDataset::done() {
  if (!ahead_result_) ahead_result_ = Fetch();
  if (!ahead_result_->ok()) return false;
  // If the number of batches is unknown, only now the epoch turns out to be complete.
  if (source_epoch_ > position_.epoch) position_ = {source_epoch_, 0, position_.first_epoch};
  return !**ahead_result_;
}

std::optional<int64_t> CallbackDataset::size() const {
  int64_t batches = callbacks_.size == nullptr ? -1 : callbacks_.size(callbacks_.context);
  return batches <= 0 ? std::nullopt : std::optional<int64_t>(batches);
}

Status CallbackDataset::Seek(const DataPosition& position) {
  HR_RETURN_IF_ERROR(CheckPosition(position, -1));
  if (position == position_) return {};
  HR_RETURN_IF_ERROR(Reset(position.epoch));
  ahead_result_.reset();
  position_ = {.epoch = position.epoch, .first_epoch = position.first_epoch};
  for (; position_.index < position.index; ++position_.index) {
    HR_ASSIGN_OR_RETURN(bool more, FetchOfEpoch());
    if (!more) {
      return OutOfRange("the data position is after batch ", position.index, " of epoch ",
                        position.epoch, ", the host's data set ended after ", position_.index);
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Dataset>> CreateCallbackDataset(std::vector<Field> fields,
                                                       const DatasetCallbacks& callbacks,
                                                       int64_t repeat, Allocator& allocator) {
  auto dataset = std::make_unique<CallbackDataset>(std::move(fields), callbacks, repeat, allocator);
  if (callbacks.next == nullptr || dataset->fields().empty()) {
    return InvalidArgument("a host's data set needs a next function and at least one field");
  }
  if (repeat < 1 && repeat != kRepeatForever) {
    return InvalidArgument("expected to repeat at least 1 time, got ", repeat);
  }
  if (repeat != 1 && callbacks.reset == nullptr) {
    return InvalidArgument("a host's data set that is repeated needs a reset function");
  }
  for (const Field& field : dataset->fields()) {
    if (!IsSupported(field.dtype) || field.dims.empty()) {
      return InvalidArgument("field '", field.name, "' needs a supported element type and a shape ",
                             "whose dimension 0 is the batch, got ", DTypeName(field.dtype),
                             ShapeText(field.dims));
    }
  }
  return std::unique_ptr<Dataset>(std::move(dataset));
}

}  // namespace hr::train
