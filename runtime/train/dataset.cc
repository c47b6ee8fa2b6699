#include "runtime/train/dataset.h"

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/train/json.h"

namespace hr::train {
namespace {

// Beyond any training, and far from overflow when epochs are added.
constexpr int64_t kMostEpochs = int64_t{1} << 53;

}  // namespace

std::string DataPositionToJson(const DataPosition& position) {
  JsonWriter json;
  json.BeginObject();
  json.Field("epoch", position.epoch);
  json.Field("index", position.index);
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
  HR_ASSIGN_OR_RETURN(position.index, JsonInt64At(json, "index", kWhat, 0));
  HR_ASSIGN_OR_RETURN(position.first_epoch, JsonInt64At(json, "first_epoch", kWhat, 0));
  HR_ASSIGN_OR_RETURN(position.seed, JsonUint64At(json, "seed", kWhat));
  HR_ASSIGN_OR_RETURN(position.shuffle, JsonBoolAt(json, "shuffle", kWhat));
  HR_ASSIGN_OR_RETURN(position.size, JsonInt64At(json, "size", kWhat, -1));
  return position;
}

std::span<const std::string> Dataset::names() const {
  if (names_.empty()) {
    for (const Field& field : fields()) names_.push_back(field.name);
  }
  return names_;
}

Status Dataset::Restore(std::string_view state) {
  HR_ASSIGN_OR_RETURN(DataPosition position, DataPositionFromJson(state));
  return Seek(position);
}

Status CheckBatchSpan(std::span<const Field> fields, std::span<const Tensor> out) {
  if (out.size() == fields.size()) return {};
  return InvalidArgument("a batch of this data set has ", fields.size(), " tensors, got room for ",
                         out.size());
}

Status CheckPosition(const DataPosition& position, int64_t size) {
  if (position.size != size) {
    return InvalidArgument("the data position is of data with ", position.size,
                           " examples an epoch, this data set has ", size,
                           " (-1: unknown); open the data that the position was saved with");
  }
  bool valid = position.first_epoch >= 0 && position.first_epoch <= position.epoch &&
               position.epoch <= kMostEpochs && position.index >= 0 &&
               (size < 0 || position.index <= size);
  if (!valid) {
    return InvalidArgument("the data position ", DataPositionToJson(position),
                           " is outside the data");
  }
  return {};
}

DataPosition NextPass(DataPosition position) {
  if (position.index > 0) ++position.epoch;
  position.index = 0;
  position.first_epoch = position.epoch;
  return position;
}

}  // namespace hr::train
