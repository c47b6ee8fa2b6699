#include "runtime/data/callback_dataset.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/data/tensor_ring.h"

namespace hr::data {
namespace {

bool AllKnown(const Dims& dims) {
  return std::ranges::none_of(dims, [](int64_t dim) { return dim < 0; });
}

// Whether a field counts the examples of a batch: those do that declare how many there are at most,
// or all if none does.
std::vector<bool> Counting(const std::vector<Field>& fields) {
  auto declares = [](const Field& field) { return !field.dims.empty() && field.dims[0] >= 0; };
  const bool none = std::ranges::none_of(fields, declares);
  std::vector<bool> counting;
  counting.reserve(fields.size());
  for (const Field& field : fields) counting.push_back(none || declares(field));
  return counting;
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
  CallbackDataset(std::vector<Field> fields, const DatasetCallbacks& callbacks,
                  const BatchOptions& options, Allocator& allocator)
      : Dataset(std::move(fields), {.size = callbacks.examples > 0 ? callbacks.examples : -1}),
        callbacks_(callbacks),
        options_(options),
        examples_(position_.size),
        counting_(Counting(declared())) {
    for (const Field& field : declared()) rings_.emplace_back(allocator, field.dtype);
    ahead_.resize(declared().size());
  }
  ~CallbackDataset() override {
    if (callbacks_.release != nullptr) callbacks_.release(callbacks_.context);
  }

  Status Check();
  std::optional<int64_t> size() const override {
    return examples_ < 0 ? std::nullopt : std::optional(BatchesOfEpoch(options_, examples_));
  }

 private:
  // What the host's next batch begins with.
  struct Place {
    int64_t epoch = 0;
    int64_t example = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) override;
  Result<bool> DoDone(const CallLimits& limits) override;
  Status DoSeek(const DataPosition& position, const CallLimits& limits) override;
  Status DoReshard(const Shard& shard, const CallLimits& limits) override;

  Result<bool> Fetch();
  Result<bool> FetchAt(DataPosition position);
  Status GoTo(const Place& place);
  Status TakeTensors(int64_t examples);
  Result<bool> CallNext(int64_t examples);
  Result<int64_t> Ask(int64_t examples);
  Result<int64_t> CountExamples(int64_t asked) const;
  Status CheckEndOfEpoch();
  Status CheckDraw(const BatchOptions& options) const;
  Status WrongCount(std::string_view what) const;

  const DatasetCallbacks callbacks_;
  BatchOptions options_;
  const int64_t examples_;  // of an epoch; -1: unknown
  const std::vector<bool> counting_;
  std::vector<TensorRing> rings_;
  Dims dims_;                            // of the tensor being taken
  std::optional<Place> host_ = Place();  // null: unknown
  bool host_at_end_ = false;             // it has said that its epoch is over
  // The end shows only when the next batch is asked for, so Done reads one ahead.
  std::vector<Tensor> ahead_;
  std::optional<Result<bool>> ahead_result_;
  DataPosition begin_;  // of the batch ahead
  DataPosition after_;
};

Status CallbackDataset::Check() {
  if (callbacks_.next == nullptr || declared().empty()) {
    return InvalidArgument("a host's data set needs a next function and at least one field");
  }
  const Field* first = nullptr;  // of those that declare the batch
  for (const Field& field : declared()) {
    if (!IsSupported(field.dtype) || field.dims.empty()) {
      return InvalidArgument("field '", field.name, "' needs a supported element type and a shape ",
                             "whose dimension 0 is the batch, got ", DTypeName(field.dtype),
                             ShapeText(field.dims));
    }
    if (field.dims[0] < 0) continue;
    if (first == nullptr) first = &field;
    if (field.dims[0] == first->dims[0]) continue;
    return InvalidArgument("field '", first->name, "' declares batches of ", first->dims[0],
                           " examples, field '", field.name, "' of ", field.dims[0],
                           "; dimension 0 must be the same for all, or -1");
  }
  if (first != nullptr) options_.batch = first->dims[0];
  if (options_.shuffle)
    return InvalidArgument("a host's data set cannot be shuffled; let the host order the examples");
  return CheckDraw(options_);
}

Status CallbackDataset::CheckDraw(const BatchOptions& options) const {
  if ((options.repeat != 1 || options.shard.count != 1) && callbacks_.seek == nullptr) {
    return InvalidArgument(
        "a host's data set that is repeated or has shards needs a seek function");
  }
  if ((options.drop_remainder || options.shard.count != 1) && examples_ < 0) {
    return InvalidArgument(
        "a host's data set with drop_remainder or shards must declare its number of examples");
  }
  return CheckBatchOptions(options, examples_);
}

Status CallbackDataset::GoTo(const Place& place) {
  if (host_ == place) return {};
  if (callbacks_.seek == nullptr) {
    return FailedPrecondition("the host's data set has no seek function, so it is read once");
  }
  host_.reset();
  Status status = callbacks_.seek(callbacks_.context, place.epoch, place.example);
  if (!status.ok()) {
    return std::move(status).WithContext(Cat("the host's data set could not go to example ",
                                             place.example, " of epoch ", place.epoch));
  }
  host_ = place;
  host_at_end_ = false;
  return {};
}

Status CallbackDataset::TakeTensors(int64_t examples) {
  for (size_t i = 0; i < declared().size(); ++i) {
    dims_ = declared()[i].dims;
    if (counting_[i] && dims_[0] >= 0) dims_[0] = examples;
    if (examples == 0) std::ranges::replace(dims_, -1, 0);
    if (AllKnown(dims_)) {
      HR_RETURN_IF_ERROR(rings_[i].Take(dims_, &ahead_[i]));
    } else {
      ahead_[i] = Tensor();
    }
  }
  return {};
}

Result<bool> CallbackDataset::CallNext(int64_t examples) {
  HR_RETURN_IF_ERROR(TakeTensors(examples));
  Result<bool> more = callbacks_.next(callbacks_.context, examples, ahead_);
  if (!more.ok()) {
    return std::move(more).status().WithContext("the host's data set failed to make a batch");
  }
  host_at_end_ = !*more;
  return more;
}

// The examples of the batch in ahead_, of which at most `asked` were asked for.
Result<int64_t> CallbackDataset::CountExamples(int64_t asked) const {
  int64_t count = -1;
  for (size_t i = 0; i < declared().size(); ++i) {
    HR_RETURN_IF_ERROR(CheckBatchTensor(declared()[i], ahead_[i]));
    if (!counting_[i]) continue;
    const int64_t found = ahead_[i].dims()[0];
    if (count < 0) count = found;
    const bool exact = options_.shard.count != 1;
    if (found == count && (exact ? found == asked : found > 0 && found <= asked)) continue;
    return InvalidArgument("the host's data set was asked for ", exact ? "exactly " : "1 to ",
                           asked, " examples, the same of each field; field '", declared()[i].name,
                           "' has ", found);
  }
  return count;
}

// The next batch of the host into ahead_. Returns its number of examples; 0 at the epoch's end.
Result<int64_t> CallbackDataset::Ask(int64_t examples) {
  HR_ASSIGN_OR_RETURN(const bool more, CallNext(examples));
  if (!more) return 0;
  Result<int64_t> count = CountExamples(examples);
  if (count.ok()) {
    host_->example += *count;
  } else {
    host_.reset();  // nobody knows how far it has gone
  }
  return count;
}

Status CallbackDataset::WrongCount(std::string_view what) const {
  return DataLoss("the host's data set declared ", examples_, " examples, epoch ", host_->epoch,
                  " ", what,
                  "; deliver as many as declared, or declare -1 if the number is unknown");
}

// Training on less than was promised would look like success, and so would leaving examples out. So
// a host that has given all it declared must say that its epoch is over.
Status CallbackDataset::CheckEndOfEpoch() {
  if (examples_ < 0 || !host_.has_value() || host_at_end_) return {};
  if (host_->example == examples_) {
    HR_ASSIGN_OR_RETURN(const bool more, CallNext(options_.batch));
    if (more) ++host_->example;
  }
  return host_->example <= examples_ ? Status() : WrongCount("has more");
}

// The next batch into ahead_; false if the pass is over.
Result<bool> CallbackDataset::Fetch() {
  HR_RETURN_IF_ERROR(CheckEndOfEpoch());
  return FetchAt(position_);
}

Result<bool> CallbackDataset::FetchAt(DataPosition position) {
  begin_ = after_ = position;
  if (PassIsOver(options_, position)) return false;
  ExampleRange whole = GlobalBatch(options_, position);
  const ExampleRange part = PartOf(whole, options_.shard);
  if (part.count == 0) {
    HR_RETURN_IF_ERROR(TakeTensors(0));
  } else {
    HR_RETURN_IF_ERROR(GoTo({position.epoch, part.first}));
    HR_ASSIGN_OR_RETURN(const int64_t given, Ask(part.count));
    if (options_.shard.count == 1) whole.count = given;
    if (given == 0 && examples_ >= 0) return WrongCount(Cat("ended after ", host_->example));
  }
  Advance(options_, whole.count, &after_);
  if (whole.count > 0) return true;
  if (position.example == 0 && options_.repeat != 1) {
    return FailedPrecondition("the host's data set has no batch in epoch ", position.epoch,
                              ", so it cannot be repeated");
  }
  ++position.epoch;
  position.example = 0;
  return FetchAt(position);
}

Result<bool> CallbackDataset::DoNext(std::span<Tensor> out, const CallLimits&) {
  if (!ahead_result_) ahead_result_ = Fetch();
  Result<bool> result = *std::move(ahead_result_);
  ahead_result_.reset();
  if (!result.ok()) return result;
  if (*result) std::ranges::copy(ahead_, out.begin());
  position_ = after_;
  return result;
}

Result<bool> CallbackDataset::DoDone(const CallLimits&) {
  if (!ahead_result_) ahead_result_ = Fetch();
  if (!ahead_result_->ok()) return false;
  position_ = begin_;  // if the number of examples is unknown, an epoch shows only now to be over
  return !**ahead_result_;
}

Status CallbackDataset::DoSeek(const DataPosition& position, const CallLimits&) {
  HR_RETURN_IF_ERROR(CheckPosition(position, examples_));
  DataPosition to = {.epoch = position.epoch,
                     .example = position.example,
                     .first_epoch = position.first_epoch,
                     .size = examples_};
  Advance(options_, 0, &to);  // other batches may leave more of an epoch out
  if (to == position_) return {};
  if (callbacks_.seek == nullptr) {
    return FailedPrecondition("the host's data set has no seek function, so it is read once");
  }
  ahead_result_.reset();
  host_.reset();
  position_ = to;
  return {};
}

Status CallbackDataset::DoReshard(const Shard& shard, const CallLimits&) {
  BatchOptions options = options_;
  options.shard = shard;
  HR_RETURN_IF_ERROR(CheckDraw(options));
  const bool same = shard.index == options_.shard.index && shard.count == options_.shard.count;
  if (same) return {};
  options_ = options;
  ahead_result_.reset();
  host_.reset();
  Advance(options_, 0, &position_);  // other batches may leave more of an epoch out
  return {};
}

}  // namespace

Result<std::unique_ptr<Dataset>> CreateCallbackDataset(std::vector<Field> fields,
                                                       const DatasetCallbacks& callbacks,
                                                       const BatchOptions& options,
                                                       Allocator& allocator) {
  auto dataset =
      std::make_unique<CallbackDataset>(std::move(fields), callbacks, options, allocator);
  HR_RETURN_IF_ERROR(dataset->Check());
  return std::unique_ptr<Dataset>(std::move(dataset));
}

}  // namespace hr::data
