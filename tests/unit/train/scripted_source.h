// A host's data set whose course a test writes down.
#pragma once

#include <chrono>
#include <thread>

#include "runtime/train/callback_dataset.h"
#include "tests/unit/train/test_support.h"

namespace hr::train {

// Each epoch has `batches` batches; batch b of epoch e holds the value 100 e + b.
struct ScriptedSource {
  int64_t batches = 3;
  int64_t fail_at = -1;  // this batch of each epoch fails once
  bool fail_pending = true;
  std::atomic<bool> block{false};
  std::atomic<int> calls{0};
  int64_t epoch = 0;
  int64_t index = 0;
  int released = 0;

  void GoTo(int64_t which) {
    epoch = which;
    index = 0;
  }
  static ScriptedSource& Of(void* context) { return *static_cast<ScriptedSource*>(context); }

  static Result<bool> Next(void* context, std::span<Tensor> out) {
    ScriptedSource& self = Of(context);
    self.calls.fetch_add(1);
    while (self.block.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (self.index == self.fail_at && std::exchange(self.fail_pending, false)) {
      return Unavailable("the camera is off");
    }
    if (self.index == self.batches) return false;
    out[0].as<int64_t>()[0] = 100 * self.epoch + self.index++;
    return true;
  }
  static Status Reset(void* context, int64_t epoch) {
    Of(context).GoTo(epoch);
    return {};
  }
  static int64_t Size(void* context) { return Of(context).batches; }
  static void Release(void* context) { ++Of(context).released; }

  DatasetCallbacks callbacks() { return {this, Next, Reset, Size, Release}; }
};

inline std::vector<Field> ScriptedFields() { return {{"value", DType::kInt64, {1}}}; }

// The values of the next batches, until the pass is over.
inline std::vector<int64_t> DrawValues(Dataset& data, size_t most = 1000) {
  std::vector<int64_t> values;
  std::vector<Tensor> out(1);
  while (values.size() < most) {
    Result<bool> more = data.Next(out, {});
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    if (!more.ok() || !*more) break;
    values.push_back(out[0].as<int64_t>()[0]);
  }
  return values;
}

}  // namespace hr::train
