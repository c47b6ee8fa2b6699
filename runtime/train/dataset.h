// Data sets: what a training loop draws its batches from.
//
//   HR_ASSIGN_OR_RETURN(auto data, OpenDataset("idx:fashion-mnist/train?batch=64&shuffle=1", {}));
//   std::vector<Tensor> batch(data->fields().size());
//   while (!data->done()) {
//     HR_RETURN_IF_ERROR(data->Next(batch, {}).status());
//     ...
//   }
//
// An epoch delivers every example once, except those that drop_remainder leaves out. A pass is
// `repeat` epochs. Rewind begins another pass; the count of epochs continues, so a shuffled data
// set has a new order in each pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/result.h"
#include "runtime/device/tensor.h"
#include "runtime/session/input_source.h"

namespace hr::train {

// One tensor of every batch. dims[0] is the largest batch; the last batch of an epoch may be
// smaller. -1 stands for a dimension that differs from batch to batch (host callbacks only).
struct Field {
  std::string name;
  DType dtype = DType::kUndefined;
  Dims dims;
};

// The position of the next batch. It counts what was delivered, not what was read ahead. Together
// with the data and the batch size it determines all further batches, bit for bit.
struct DataPosition {
  int64_t epoch = 0;        // complete epochs delivered since the creation
  int64_t index = 0;        // of this epoch: examples delivered, or batches of a host's callback
  int64_t first_epoch = 0;  // at which the current pass began
  uint64_t seed = 0;
  bool shuffle = false;
  int64_t size = -1;  // examples of an epoch; -1 if unknown

  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// {"epoch":1,"index":640,"first_epoch":0,"seed":7,"shuffle":true,"size":60000}
std::string DataPositionToJson(const DataPosition& position);
Result<DataPosition> DataPositionFromJson(std::string_view json);

inline constexpr int64_t kRepeatForever = -1;

// Used by one thread at a time. A Next that fails does not change the position.
class Dataset : public session::InputSource {
 public:
  virtual const std::vector<Field>& fields() const = 0;

  // Puts the next batch into `out`, one tensor for each field in their order, and returns true. If
  // the pass is over, returns false and leaves `out` as it is. The tensors are contiguous, on the
  // CPU, and valid as long as they are held; they must not be written to. Memory that is not held
  // any more is reused, so that after the first batches nothing is allocated.
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override = 0;

  std::span<const std::string> names() const final;

  // Returns whether the pass is over. It may have to wait for the next batch to find out.
  virtual bool done() = 0;

  // Returns the number of batches in an epoch, if it is known.
  virtual std::optional<int64_t> size() const = 0;

  // Begins another pass. If nothing of the present pass was delivered yet, nothing changes.
  virtual Status Rewind() = 0;

  virtual DataPosition position() const = 0;
  // Goes to a position of this data set; its seed and shuffle replace the ones given at creation.
  // INVALID_ARGUMENT if the position is of other data.
  virtual Status Seek(const DataPosition& position) = 0;

  // The position as one line of JSON, for checkpoints.
  std::string Save() const { return DataPositionToJson(position()); }
  Status Restore(std::string_view state);

 private:
  mutable std::vector<std::string> names_;  // of the fields; filled on demand
};

// INVALID_ARGUMENT unless `out` has one tensor for each field.
Status CheckBatchSpan(std::span<const Field> fields, std::span<const Tensor> out);
// INVALID_ARGUMENT unless `position` is possible in a data set with `size` examples per epoch.
Status CheckPosition(const DataPosition& position, int64_t size);
// The position at which another pass begins.
DataPosition NextPass(DataPosition position);

}  // namespace hr::train
