#include "runtime/data/dataset.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/data/json.h"

namespace hr::data {
namespace {

// Beyond any training, and far from overflow when epochs are added.
constexpr int64_t kMostEpochs = int64_t{1} << 53;

// The position at which another pass begins.
DataPosition NextPass(DataPosition position) {
  if (position.example > 0) ++position.epoch;
  position.example = 0;
  position.first_epoch = position.epoch;
  return position;
}

}  // namespace

std::string DataPositionToJson(const DataPosition& position) {
  JsonWriter json;
  json.BeginObject();
  json.Field("epoch", position.epoch);
  json.Field("example", position.example);
  json.Field("first_epoch", position.first_epoch);
  json.Field("seed", position.seed);
  json.Field("shuffle", position.shuffle);
  json.Field("size", position.size);
  json.EndObject();
  return json.Take();
}

Result<DataPosition> DataPositionFromJson(std::string_view text) {
  constexpr std::string_view kWhat = "the data position";
  HR_ASSIGN_OR_RETURN(Json json, ParseJsonObject(text, kWhat));
  DataPosition position;
  HR_ASSIGN_OR_RETURN(position.epoch, JsonInt64At(json, "epoch", kWhat, 0));
  HR_ASSIGN_OR_RETURN(position.example, JsonInt64At(json, "example", kWhat, 0));
  HR_ASSIGN_OR_RETURN(position.first_epoch, JsonInt64At(json, "first_epoch", kWhat, 0));
  HR_ASSIGN_OR_RETURN(position.seed, JsonUint64At(json, "seed", kWhat));
  HR_ASSIGN_OR_RETURN(position.shuffle, JsonBoolAt(json, "shuffle", kWhat));
  HR_ASSIGN_OR_RETURN(position.size, JsonInt64At(json, "size", kWhat, -1));
  return position;
}

Status CheckPosition(const DataPosition& position, int64_t size) {
  if (position.size != size) {
    return InvalidArgument("the data position is of data with ", position.size,
                           " examples an epoch, this data set has ", size,
                           " (-1: unknown); open the data that the position was saved with");
  }
  bool valid = position.first_epoch >= 0 && position.first_epoch <= position.epoch &&
               position.epoch <= kMostEpochs && position.example >= 0 &&
               (size < 0 || position.example <= size);
  if (!valid) {
    return InvalidArgument("the data position ", DataPositionToJson(position),
                           " is outside the data");
  }
  return {};
}

// One thread's use of a data set, from its call to its return.
class Dataset::Turn {
 public:
  explicit Turn(const Dataset& dataset)
      : in_use_(dataset.in_use_), granted_(!in_use_.exchange(true, std::memory_order_acquire)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (granted_) in_use_.store(false, std::memory_order_release);
  }

  Status status() const {
    if (granted_) return {};
    return FailedPrecondition(
        "the data set is in use: another call of it has not returned yet; let one thread at a time "
        "use a data set, or open one for each thread");
  }

 private:
  std::atomic<bool>& in_use_;
  const bool granted_;
};

Dataset::Dataset(std::vector<Field> fields, const DataPosition& position)
    : position_(position), fields_(std::move(fields)) {
  for (const Field& field : fields_) names_.push_back(&all_names_.emplace_back(field.name));
}

Result<bool> Dataset::Next(std::span<Tensor> out, const CallLimits& limits) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  if (out.size() != fields_.size()) {
    return InvalidArgument("a batch of this data set has ", fields_.size(),
                           " tensors, got room for ", out.size());
  }
  HR_RETURN_IF_ERROR(limits.Check());
  return DoNext(out, limits);
}

Result<bool> Dataset::Done(const CallLimits& limits) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  HR_RETURN_IF_ERROR(limits.Check());
  return DoDone(limits);
}

Status Dataset::Rewind(const CallLimits& limits) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  return DoSeek(NextPass(position_), limits);
}

Result<DataPosition> Dataset::position() const {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  return position_;
}

Status Dataset::Seek(const DataPosition& position, const CallLimits& limits) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  return DoSeek(position, limits);
}

Status Dataset::Reshard(const Shard& shard, const CallLimits& limits) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  return DoReshard(shard, limits);
}

Result<std::string> Dataset::Save() const {
  HR_ASSIGN_OR_RETURN(const DataPosition now, position());
  return DataPositionToJson(now);
}

Status Dataset::Restore(std::string_view state, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const DataPosition position, DataPositionFromJson(state));
  return Seek(position, limits);
}

Status Dataset::Rename(std::string_view field, std::string_view name) {
  const Turn turn(*this);
  HR_RETURN_IF_ERROR(turn.status());
  const std::vector<std::string> names = this->names();
  const auto found = std::ranges::find(names, field);
  if (found == names.end()) {
    return NotFound("the data set has no field '", field, "'; it has", ListText(names));
  }
  if (name == field) return {};
  if (std::ranges::find(names, name) != names.end())
    return AlreadyExists("the data set has a field '", name, "' already");
  const std::lock_guard lock(names_mutex_);
  names_[static_cast<size_t>(found - names.begin())] = &all_names_.emplace_back(name);
  return {};
}

std::vector<Field> Dataset::fields() const {
  std::vector<Field> fields = fields_;
  const std::lock_guard lock(names_mutex_);
  for (size_t i = 0; i < fields.size(); ++i) fields[i].name = *names_[i];
  return fields;
}

std::vector<std::string> Dataset::names() const {
  const std::lock_guard lock(names_mutex_);
  std::vector<std::string> names;
  for (const std::string* name : names_) names.push_back(*name);
  return names;
}

const char* Dataset::field_name(size_t index) const {
  const std::lock_guard lock(names_mutex_);
  return index < names_.size() ? names_[index]->c_str() : nullptr;
}

}  // namespace hr::data
