// A host's data set whose course a test writes down.
#pragma once

#include <chrono>
#include <thread>

#include "runtime/data/callback_dataset.h"
#include "tests/unit/train/test_support.h"

namespace hr::data {

// Each epoch has `examples` examples; example i of epoch e is the number 100 e + i.
struct ScriptedSource {
  int64_t examples = 3;
  int64_t declared = 3;
  int64_t most = 1000;   // examples of a batch, if more are asked for
  int64_t fail_at = -1;  // the batch that begins with this example of each epoch fails once
  bool fail_pending = true;
  std::atomic<bool> block{false};
  std::atomic<int> calls{0};
  int64_t epoch = 0;
  int64_t at = 0;
  std::vector<std::pair<int64_t, int64_t>> seeks;
  int released = 0;

  void GoTo(int64_t which, int64_t example = 0) {
    epoch = which;
    at = example;
  }
  static ScriptedSource& Of(void* context) { return *static_cast<ScriptedSource*>(context); }

  static Result<bool> Next(void* context, int64_t asked, std::span<Tensor> out) {
    ScriptedSource& self = Of(context);
    self.calls.fetch_add(1);
    while (self.block.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (self.at == self.fail_at && std::exchange(self.fail_pending, false)) {
      return Unavailable("the camera is off");
    }
    if (self.at >= self.examples) return false;
    const int64_t count = std::min({asked, self.most, self.examples - self.at});
    if (count < asked) {
      HR_ASSIGN_OR_RETURN(out[0], Tensor::Create(SystemAllocator(), DType::kInt64, {count}));
    }
    for (int64_t& value : out[0].span<int64_t>()) value = 100 * self.epoch + self.at++;
    return true;
  }
  static Status Seek(void* context, int64_t epoch, int64_t example) {
    Of(context).seeks.emplace_back(epoch, example);
    Of(context).GoTo(epoch, example);
    return {};
  }
  static void Release(void* context) { ++Of(context).released; }

  DatasetCallbacks callbacks() { return {this, Next, Seek, Release, declared}; }
};

inline std::vector<Field> ScriptedFields(int64_t batch = 1) {
  return {{"value", DType::kInt64, {batch}}};
}

// The values of the next batches, until there are `most` or the pass is over.
inline std::vector<int64_t> DrawValues(Dataset& data, size_t most = 1000) {
  std::vector<int64_t> values;
  std::vector<Tensor> out(1);
  while (values.size() < most) {
    Result<bool> more = data.Next(out, {});
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    if (!more.ok() || !*more) break;
    const std::span<int64_t> batch = out[0].span<int64_t>();
    values.insert(values.end(), batch.begin(), batch.end());
  }
  return values;
}

}  // namespace hr::data
