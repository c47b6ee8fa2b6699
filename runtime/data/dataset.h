// Data sets: what a training loop draws its batches from.
//
//   HR_ASSIGN_OR_RETURN(auto data, OpenDataset("idx:fashion-mnist/train?batch=64&shuffle=1", {}));
//   std::vector<Tensor> batch(data->names().size());
//   while (true) {
//     HR_ASSIGN_OR_RETURN(bool more, data->Next(batch, {}));
//     if (!more) break;
//     ...
//   }
//
// An epoch delivers every example once, except those that drop_remainder leaves out. A pass is
// `repeat` epochs. Rewind begins another pass; the count of epochs continues, so a shuffled data
// set has a new order in each pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/result.h"
#include "runtime/device/tensor.h"
#include "runtime/session/input_source.h"

namespace hr::data {

// One tensor of every batch. dims[0] is the largest batch; the last batch of an epoch may be
// smaller. -1 stands for a dimension that differs from batch to batch (host callbacks only).
struct Field {
  std::string name;
  DType dtype = DType::kUndefined;
  Dims dims;
};

// The position of the next batch. It counts what was delivered, not what was read ahead, and it
// counts the examples of all shards. Together with the data it determines all further examples, bit
// for bit, whatever the batch size and the number of shards.
struct DataPosition {
  int64_t epoch = 0;        // complete epochs delivered since the creation
  int64_t example = 0;      // examples of this epoch that were delivered
  int64_t first_epoch = 0;  // at which the current pass began
  uint64_t seed = 0;
  bool shuffle = false;
  int64_t size = -1;  // examples of an epoch; -1 if unknown

  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// {"epoch":1,"example":640,"first_epoch":0,"seed":7,"shuffle":true,"size":60000}
std::string DataPositionToJson(const DataPosition& position);
Result<DataPosition> DataPositionFromJson(std::string_view json);

inline constexpr int64_t kRepeatForever = -1;

// The part of every batch that a rank draws; see batching.h.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};

struct Draw;  // example_dataset.h

// Used by one thread at a time: a call during another one fails with FAILED_PRECONDITION. Fields,
// names and size may be asked for at any time. A Next that fails does not change the position.
class Dataset : public session::InputSource {
 public:
  // Puts the next batch into `out`, one tensor for each field in their order, and returns true. If
  // the pass is over, returns false and leaves `out` as it is. The tensors are contiguous, on the
  // CPU, and valid as long as they are held; they must not be written to. Memory that is not held
  // any more is reused, so that after the first batches nothing is allocated.
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) final;

  // Returns whether the pass is over. It may have to wait for the next batch to find out. If that
  // batch is a failure, returns false, and Next returns the failure.
  Result<bool> Done(const CallLimits& limits);

  // Begins another pass. If nothing of the present pass was delivered yet, nothing changes.
  Status Rewind(const CallLimits& limits);

  Result<DataPosition> position() const;
  // Goes to a position of this data set; its seed and shuffle replace the ones given at creation.
  // INVALID_ARGUMENT if the position is of other data. If it fails, nothing changes.
  Status Seek(const DataPosition& position, const CallLimits& limits);

  // From the present position on, the batches of another shard, or of one of another number of
  // shards. If it fails, nothing changes.
  Status Reshard(const Shard& shard, const CallLimits& limits);

  // The position as one line of JSON, for checkpoints.
  Result<std::string> Save() const;
  Status Restore(std::string_view state, const CallLimits& limits);

  // `field` is called `name` from here on; all else stays. NOT_FOUND if there is no such field,
  // ALREADY_EXISTS if another one has the name.
  Status Rename(std::string_view field, std::string_view name);

  // The fields, with their present names.
  std::vector<Field> fields() const;
  std::vector<std::string> names() const final;
  size_t field_count() const { return fields_.size(); }
  // NUL-terminated and valid as long as the data set; null if `index` is too large.
  const char* field_name(size_t index) const;

  // Returns the number of batches in an epoch, if it is known.
  virtual std::optional<int64_t> size() const = 0;

  // What it draws, and how, as long as it lives; null if it has no examples that can be read by
  // their numbers.
  virtual const Draw* draw() const { return nullptr; }

 protected:
  Dataset(std::vector<Field> fields, const DataPosition& position);

  // What Next, Done, Seek and Reshard do, called by one thread at a time. `out` has a tensor for
  // each field.
  virtual Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) = 0;
  virtual Result<bool> DoDone(const CallLimits& limits) = 0;
  virtual Status DoSeek(const DataPosition& position, const CallLimits& limits) = 0;
  virtual Status DoReshard(const Shard& shard, const CallLimits& limits) = 0;

  // As they were declared.
  const std::vector<Field>& declared() const { return fields_; }

  DataPosition position_;

 private:
  class Turn;

  const std::vector<Field> fields_;
  mutable std::atomic<bool> in_use_{false};
  mutable std::mutex names_mutex_;         // guards the two below
  std::deque<std::string> all_names_;      // also former ones, which somebody may still read
  std::vector<const std::string*> names_;  // of the fields
};

// INVALID_ARGUMENT unless `position` is possible in a data set with `size` examples per epoch.
Status CheckPosition(const DataPosition& position, int64_t size);

}  // namespace hr::data
