// The library's own executor. One parallel region runs at a time per set of workers it took; a
// region's workers take its tasks one by one.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/executor.h"

namespace hr {
namespace {

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long an idle worker polls before it sleeps. Covers the gaps between the regions of one step;
// short enough that an idle process uses no CPU.
constexpr int kSpins = 4000;

struct Region {
  TaskFunction fn;
  void* context;
  int64_t tasks;
  int threads;
  std::atomic<uint64_t> taken{0};  // chunks of tasks
  std::atomic<int> active{0};      // workers inside

  // A thread begins at a place of its own, the same in every region, so that it finds what it left
  // in its caches; then it takes what others have not begun.
  void Work(int place) {
    const int64_t chunks = std::min<int64_t>(tasks, 64);
    const int64_t first = place % threads * chunks / threads;
    for (int64_t i = 0; i < chunks; ++i) {
      const int64_t chunk = (first + i) % chunks;
      const uint64_t bit = uint64_t{1} << chunk;
      if ((taken.load(std::memory_order_relaxed) & bit) != 0) continue;
      if ((taken.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) continue;
      for (int64_t task = tasks * chunk / chunks; task < tasks * (chunk + 1) / chunks; ++task) {
        fn(context, static_cast<int>(task));
      }
    }
  }
};

// One worker waits on a mailbox of its own, so regions of different leases do not meet.
struct Worker {
  int place = 0;  // of the pool's threads; 0 is the caller's
  std::atomic<Region*> mailbox{nullptr};
  std::atomic<bool> busy{false};
  std::atomic<bool> asleep{false};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;

  void Post(Region* region) {
    mailbox.store(region, std::memory_order_seq_cst);
    if (asleep.load(std::memory_order_seq_cst)) {
      std::lock_guard lock(mutex);
      wake.notify_one();
    }
  }

  // The region posted last, which nobody else can take any more; null when the pool ends.
  Region* Await() {
    while (true) {
      for (int spin = 0; spin < kSpins; ++spin) {
        if (mailbox.load(std::memory_order_relaxed) != nullptr) {
          if (Region* region = mailbox.exchange(nullptr, std::memory_order_acq_rel)) return region;
        }
        if (stop.load(std::memory_order_relaxed)) return nullptr;
        Pause();
      }
      std::unique_lock lock(mutex);
      asleep.store(true, std::memory_order_seq_cst);
      // It polls again even if it was woken too late: where waking takes longer than a region, it
      // would else sleep through all of them.
      if (mailbox.load(std::memory_order_seq_cst) == nullptr && !stop) wake.wait(lock);
      asleep.store(false, std::memory_order_relaxed);
    }
  }

  // Takes a region back that the worker has not begun: then it never touches it.
  bool Withdraw(Region* region) {
    if (!mailbox.compare_exchange_strong(region, nullptr, std::memory_order_acq_rel)) return false;
    busy.store(false, std::memory_order_release);
    return true;
  }

  void Loop() {
    while (Region* region = Await()) {
      region->Work(place);
      busy.store(false, std::memory_order_release);
      region->active.fetch_sub(1, std::memory_order_acq_rel);  // last touch: the region may end
    }
  }
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) : workers_(static_cast<size_t>(threads - 1)) {
    int place = 0;
    for (Worker& worker : workers_) {
      worker.place = ++place;
      worker.thread = std::thread([&worker] { worker.Loop(); });
    }
  }

  ~ThreadPool() override {
    for (Worker& worker : workers_) {
      {
        std::lock_guard lock(worker.mutex);
        worker.stop = true;
        worker.wake.notify_one();
      }
      worker.thread.join();
    }
  }

  int concurrency() const override { return static_cast<int>(workers_.size()) + 1; }

  void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) override {
    const int used = std::min(threads, tasks);
    Region region{.fn = fn, .context = context, .tasks = tasks, .threads = used};
    int helpers = used - 1;
    for (Worker& worker : workers_) {
      if (helpers == 0) break;
      if (worker.busy.exchange(true, std::memory_order_acquire)) continue;
      --helpers;
      region.active.fetch_add(1, std::memory_order_relaxed);
      worker.Post(&region);
    }
    region.Work(0);
    // A worker that slept through the region is not waited for.
    for (Worker& worker : workers_) {
      if (worker.Withdraw(&region)) region.active.fetch_sub(1, std::memory_order_relaxed);
    }
    int spins = 0;
    while (region.active.load(std::memory_order_acquire) != 0) {
      if (++spins < 1 << 14)
        Pause();
      else
        std::this_thread::yield();
    }
  }

 private:
  std::vector<Worker> workers_;
};

}  // namespace

Result<std::unique_ptr<Executor>> CreateThreadPool(int threads) {
  if (threads < 1 || threads > 1024) {
    return InvalidArgument("expected a thread budget in [1, 1024], got ", threads);
  }
  return std::unique_ptr<Executor>(std::make_unique<ThreadPool>(threads));
}

}  // namespace hr
