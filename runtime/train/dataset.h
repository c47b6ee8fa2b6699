// Data sets: what a training loop draws its batches from.
//
//   HR_ASSIGN_OR_RETURN(auto data, OpenDataset("idx:fashion-mnist/train?batch=64&shuffle=1", {}));
//   std::vector<Tensor> batch(data->fields().size());
//   while (!data->done()) {
//     HR_RETURN_IF_ERROR(data->Next(batch, {}).status());
//     ...
//   }
//
// Time is counted in epochs: one epoch delivers every example once (save those that
// drop_remainder leaves out). A pass is `repeat` epochs; Rewind begins another pass, and the epochs
// go on counting, so a shuffled set comes in a new order each time.
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

// Which batch comes next. It counts what was delivered, not what was read ahead, and with the same
// data and batch size it determines every batch that follows, bit for bit.
struct DataPosition {
  int64_t epoch = 0;        // whole epochs delivered since the very beginning
  int64_t index = 0;        // of this epoch: examples delivered, or batches of a host's callback
  int64_t first_epoch = 0;  // at which the current pass began
  uint64_t seed = 0;
  bool shuffle = false;
  int64_t size = -1;  // examples of an epoch; -1 where unknown

  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// {"epoch":1,"index":640,"first_epoch":0,"seed":7,"shuffle":true,"size":60000}
std::string DataPositionToJson(const DataPosition& position);
Result<DataPosition> DataPositionFromJson(std::string_view json);

inline constexpr int64_t kRepeatForever = -1;

// Not thread-safe: one thread at a time. A failed Next leaves the position where it was.
class Dataset : public session::InputSource {
 public:
  virtual const std::vector<Field>& fields() const = 0;

  // Puts the next batch into `out`, one tensor a field and in their order; false, leaving `out` as
  // it is, when the pass is over. The tensors are contiguous, on the CPU and stay valid as long as
  // somebody holds them; memory that nobody holds any more is used again, so after the first
  // batches nothing is allocated. They must not be written to.
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override = 0;

  std::span<const std::string> names() const final;

  // Whether the pass is over, exactly: may wait for the next batch in order to know.
  virtual bool done() = 0;

  // Batches of one epoch, where known.
  virtual std::optional<int64_t> size() const = 0;

  // Begins another pass. Where nothing of a pass was delivered yet, nothing changes.
  virtual Status Rewind() = 0;

  virtual DataPosition position() const = 0;
  // Goes to a position of this data set; its seed and shuffle replace the ones given at creation.
  // INVALID_ARGUMENT where the position is of other data.
  virtual Status Seek(const DataPosition& position) = 0;

  // The position as one line of JSON, for checkpoints.
  std::string Save() const { return DataPositionToJson(position()); }
  Status Restore(std::string_view state);

 private:
  mutable std::vector<std::string> names_;  // of the fields, once somebody asked
};

// INVALID_ARGUMENT unless `out` has one tensor a field.
Status CheckBatchSpan(std::span<const Field> fields, std::span<const Tensor> out);
// INVALID_ARGUMENT unless `position` can be one of a data set with `size` examples an epoch.
Status CheckPosition(const DataPosition& position, int64_t size);
// The position at which another pass begins.
DataPosition NextPass(DataPosition position);

}  // namespace hr::train
