#include "runtime/data/prefetch_dataset.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/base/errors.h"
#include "runtime/base/wait_point.h"

namespace hr::data {
namespace {

constexpr int64_t kMostDepth = 1024;

// A result of the source and the position it left behind.
struct Item {
  std::vector<Tensor> tensors;
  Result<bool> result = false;
  DataPosition after;
};

class PrefetchDataset final : public Dataset {
 public:
  PrefetchDataset(std::unique_ptr<Dataset> source, size_t depth)
      : Dataset(source->fields(), source->position().value()),
        source_(std::move(source)),
        items_(depth) {
    for (Item& item : items_) item.tensors.resize(declared().size());
  }
  ~PrefetchDataset() override { Stop({}).IgnoreError(); }  // without limits it cannot fail

  std::optional<int64_t> size() const override { return source_->size(); }
  const Draw* draw() const override { return source_->draw(); }

 private:
  Result<bool> DoNext(std::span<Tensor> out, const CallLimits& limits) override;
  Result<bool> DoDone(const CallLimits& limits) override;
  Status DoSeek(const DataPosition& position, const CallLimits& limits) override;
  Status DoReshard(const Shard& shard, const CallLimits& limits) override;

  void Start();
  Status Stop(const CallLimits& limits);
  void ReadAhead();
  Item* FreeItem();
  bool Publish(const Item& item);
  Status WaitForItem(const CallLimits& limits);
  void Pop();

  const std::unique_ptr<Dataset> source_;
  std::vector<Item> items_;  // a ring: `count_` ready ones from `first_`, the rest the thread's
  std::thread thread_;

  WaitPoint changed_;                     // an item is ready, or the thread has ended
  std::mutex& mutex_ = changed_.mutex();  // guards all below
  std::condition_variable item_free_;
  size_t first_ = 0;
  size_t count_ = 0;
  bool running_ = false;
  bool stop_ = false;
};

// The thread ends after a failure or the end of the pass; it is started again on demand.
void PrefetchDataset::Start() {
  if (thread_.joinable()) thread_.join();
  running_ = true;
  thread_ = std::thread([this] { ReadAhead(); });
}

// What was read ahead stays. If the limits end the wait, the thread goes on.
Status PrefetchDataset::Stop(const CallLimits& limits) {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  item_free_.notify_one();
  Status ended = changed_.Wait(limits, [this] { return !running_; });
  {
    std::lock_guard lock(mutex_);
    stop_ = false;
  }
  if (ended.ok() && thread_.joinable()) thread_.join();
  return ended;
}

void PrefetchDataset::ReadAhead() {
  while (Item* item = FreeItem()) {
    item->result = source_->Next(item->tensors, {});
    item->after = source_->position().value();
    if (!Publish(*item)) return;
  }
}

// Null once the reader is to stop.
Item* PrefetchDataset::FreeItem() {
  {
    std::unique_lock lock(mutex_);
    item_free_.wait(lock, [this] { return stop_ || count_ < items_.size(); });
    if (!stop_) return &items_[(first_ + count_) % items_.size()];
    running_ = false;
  }
  changed_.NotifyAll();
  return nullptr;
}

bool PrefetchDataset::Publish(const Item& item) {
  bool go_on = item.result.ok() && *item.result;
  {
    std::lock_guard lock(mutex_);
    ++count_;
    running_ = go_on;
  }
  changed_.NotifyAll();
  return go_on;
}

Status PrefetchDataset::WaitForItem(const CallLimits& limits) {
  bool idle;
  {
    std::lock_guard lock(mutex_);
    idle = count_ == 0 && !running_;
  }
  if (idle) Start();
  return changed_.Wait(limits, [this] { return count_ > 0; });
}

Result<bool> PrefetchDataset::DoNext(std::span<Tensor> out, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(WaitForItem(limits));
  Item& item = items_[first_];  // the thread leaves ready items, and first_, alone
  Result<bool> result = std::exchange(item.result, false);
  if (result.ok()) {
    if (*result) std::ranges::copy(item.tensors, out.begin());
    position_ = item.after;
  }
  Pop();
  return result;
}

void PrefetchDataset::Pop() {
  std::lock_guard lock(mutex_);
  first_ = (first_ + 1) % items_.size();
  --count_;
  item_free_.notify_one();
}

Result<bool> PrefetchDataset::DoDone(const CallLimits& limits) {
  HR_RETURN_IF_ERROR(WaitForItem(limits));
  const Item& item = items_[first_];
  if (!item.result.ok() || *item.result) return false;
  position_ = item.after;
  return true;
}

Status PrefetchDataset::DoSeek(const DataPosition& position, const CallLimits& limits) {
  if (position == position_) return {};
  HR_RETURN_IF_ERROR(Stop(limits));
  HR_RETURN_IF_ERROR(source_->Seek(position, limits));
  first_ = 0;
  count_ = 0;
  position_ = source_->position().value();
  return {};
}

// The source is ahead of what was delivered.
Status PrefetchDataset::DoReshard(const Shard& shard, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(Stop(limits));
  HR_RETURN_IF_ERROR(source_->Reshard(shard, limits));
  HR_RETURN_IF_ERROR(source_->Seek(position_, limits));
  first_ = 0;
  count_ = 0;
  position_ = source_->position().value();
  return {};
}

}  // namespace

Result<std::unique_ptr<Dataset>> CreatePrefetchDataset(std::unique_ptr<Dataset> source,
                                                       int64_t depth) {
  if (depth < 1 || depth > kMostDepth) {
    return InvalidArgument("expected to prefetch 1 to ", kMostDepth, " batches, got ", depth);
  }
  return std::unique_ptr<Dataset>(
      new PrefetchDataset(std::move(source), static_cast<size_t>(depth)));
}

}  // namespace hr::data
