// The library's own executor. One parallel region runs at a time per set of workers it took; a
// region's workers pull task numbers from a shared counter.
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
  int tasks;
  std::atomic<int> next{0};
  std::atomic<int> active{0};  // workers inside

  void Work() {
    for (int task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      fn(context, task);
    }
  }
};

// One worker waits on a mailbox of its own, so regions of different leases do not meet.
struct Worker {
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
      wake.wait(lock,
                [this] { return mailbox.load(std::memory_order_seq_cst) != nullptr || stop; });
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
      region->Work();
      busy.store(false, std::memory_order_release);
      region->active.fetch_sub(1, std::memory_order_acq_rel);  // last touch: the region may end
    }
  }
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) : workers_(static_cast<size_t>(threads - 1)) {
    for (Worker& worker : workers_) worker.thread = std::thread([&worker] { worker.Loop(); });
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
    Region region{.fn = fn, .context = context, .tasks = tasks};
    int helpers = std::min(threads, tasks) - 1;
    for (Worker& worker : workers_) {
      if (helpers == 0) break;
      if (worker.busy.exchange(true, std::memory_order_acquire)) continue;
      --helpers;
      region.active.fetch_add(1, std::memory_order_relaxed);
      worker.Post(&region);
    }
    region.Work();
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
    return InvalidArgument("a thread budget lies in [1, 1024], got ", threads);
  }
  return std::unique_ptr<Executor>(std::make_unique<ThreadPool>(threads));
}

}  // namespace hr
