#include "runtime/comm/mesh.h"
#include "runtime/comm/work.h"

namespace hr::comm {
namespace {

// What a pool keeps for later: works, and the scratch memory in all of them.
constexpr size_t kMaxFree = 256;
constexpr size_t kMaxScratch = 16 << 20;

}  // namespace

WorkPool::WorkPool(std::shared_ptr<Mesh> mesh, std::vector<int> ranks)
    : mesh_(std::move(mesh)), ranks_(std::move(ranks)) {}

WorkPool::~WorkPool() {
  for (Work* list : {free_, returned_.load(std::memory_order_acquire)}) {
    while (list != nullptr) delete std::exchange(list, list->next_);
  }
}

WorkRef WorkPool::Take() {
  if (free_ == nullptr) CollectReturned();
  Work* work = free_ != nullptr ? std::exchange(free_, free_->next_) : new Work;
  work->references_.store(1, std::memory_order_relaxed);
  work->pool_ = shared_from_this();
  Reset(*work);
  return WorkRef::Adopt(work);
}

bool WorkPool::Renew(const WorkRef& work) {
  if (work.get() == nullptr || work->references_.load(std::memory_order_acquire) > 1) return false;
  work->staged_.Reset();
  if (work->scratch_.bytes() > kMaxScratch) work->scratch_.Reset();
  Reset(*work);
  return true;
}

void WorkPool::Reset(Work& work) {
  work.next_step_ = 0;
  work.computing_ = false;
  work.started_ = 0;
  work.pending_ = 0;
  work.ready_ = false;
  work.watched_ = false;
  work.differs_ = false;
  work.done_.store(false, std::memory_order_relaxed);
  if (!work.status_.ok()) work.status_ = {};
  if (!work.ending_.ok()) work.ending_ = {};
  if (!work.callbacks_.empty()) work.callbacks_.clear();
}

void WorkPool::CollectReturned() {
  free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  size_t works = 0, scratch = 0;
  for (Work** link = &free_; *link != nullptr;) {
    Work* work = *link;
    if (++works > kMaxFree) {
      *link = work->next_;
      delete work;
      continue;
    }
    work->staged_.Reset();
    scratch += work->scratch_.bytes();
    if (scratch > kMaxScratch) {
      scratch -= work->scratch_.bytes();
      work->scratch_.Reset();
    }
    link = &work->next_;
  }
}

void WorkPool::Return(Work* work) {
  work->next_ = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(work->next_, work, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

void Work::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::shared_ptr<WorkPool> pool = std::move(pool_);  // whose last user this may be
  pool->Return(this);
}

}  // namespace hr::comm
