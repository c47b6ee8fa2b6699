#include "runtime/train/prefetch_dataset.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/base/errors.h"
#include "runtime/base/wait_point.h"

namespace hr::train {
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
      : source_(std::move(source)),
        items_(depth),
        size_(source_->size()),
        delivered_(source_->position()) {
    for (Item& item : items_) item.tensors.resize(source_->fields().size());
  }
  ~PrefetchDataset() override { Stop(); }

  const std::vector<Field>& fields() const override { return source_->fields(); }
  Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) override;
  bool done() override;
  std::optional<int64_t> size() const override { return size_; }
  Status Rewind() override { return Seek(NextPass(delivered_)); }
  DataPosition position() const override { return delivered_; }
  Status Seek(const DataPosition& position) override;

 private:
  void Start();
  void Stop();
  void ReadAhead();
  Item* FreeItem();
  bool Publish(const Item& item);
  Status WaitForItem(const CallLimits& limits);
  void Pop();

  std::unique_ptr<Dataset> source_;
  std::vector<Item> items_;  // a ring: `count_` ready ones from `first_`, the rest the thread's
  const std::optional<int64_t> size_;  // asked before the thread runs: never two calls at a time
  DataPosition delivered_;
  std::thread thread_;
  std::optional<CancelToken> cancel_;

  WaitPoint item_ready_;
  std::mutex& mutex_ = item_ready_.mutex();  // guards all below
  std::condition_variable item_free_;
  size_t first_ = 0;
  size_t count_ = 0;
  bool running_ = false;
  bool stop_ = false;
};

// The thread ends after a failure or the end of the pass; it is started again on demand.
void PrefetchDataset::Start() {
  if (thread_.joinable()) thread_.join();
  cancel_.emplace();
  running_ = true;
  thread_ = std::thread([this] { ReadAhead(); });
}

void PrefetchDataset::Stop() {
  if (!thread_.joinable()) return;
  cancel_->Cancel();
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  item_free_.notify_one();
  thread_.join();
  stop_ = false;
  running_ = false;
  first_ = 0;
  count_ = 0;
}

void PrefetchDataset::ReadAhead() {
  CallLimits limits{.cancel = &*cancel_};
  while (Item* item = FreeItem()) {
    item->result = source_->Next(item->tensors, limits);
    item->after = source_->position();
    if (!Publish(*item)) return;
  }
}

// Null once the reader is to stop.
Item* PrefetchDataset::FreeItem() {
  std::unique_lock lock(mutex_);
  item_free_.wait(lock, [this] { return stop_ || count_ < items_.size(); });
  return stop_ ? nullptr : &items_[(first_ + count_) % items_.size()];
}

bool PrefetchDataset::Publish(const Item& item) {
  bool go_on = item.result.ok() && *item.result;
  {
    std::lock_guard lock(mutex_);
    ++count_;
    running_ = go_on;
  }
  item_ready_.NotifyAll();
  return go_on;
}

Status PrefetchDataset::WaitForItem(const CallLimits& limits) {
  bool idle;
  {
    std::lock_guard lock(mutex_);
    idle = count_ == 0 && !running_;
  }
  if (idle) Start();
  return item_ready_.Wait(limits, [this] { return count_ > 0; });
}

Result<bool> PrefetchDataset::Next(std::span<Tensor> out, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckBatchSpan(fields(), out));
  HR_RETURN_IF_ERROR(limits.Check());
  HR_RETURN_IF_ERROR(WaitForItem(limits));
  Item& item = items_[first_];  // the thread leaves ready items, and first_, alone
  Result<bool> result = std::exchange(item.result, false);
  if (result.ok()) {
    if (*result) std::ranges::copy(item.tensors, out.begin());
    delivered_ = item.after;
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

bool PrefetchDataset::done() {
  WaitForItem({}).IgnoreError();  // without limits it cannot fail
  const Item& item = items_[first_];
  if (!item.result.ok() || *item.result) return false;
  delivered_ = item.after;
  return true;
}

Status PrefetchDataset::Seek(const DataPosition& position) {
  Stop();
  // The source has read ahead: even if nothing is to change, it must go back.
  HR_RETURN_IF_ERROR(source_->Seek(position));
  delivered_ = source_->position();
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

}  // namespace hr::train
