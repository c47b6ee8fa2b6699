#include "operations.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "callbacks.h"
#include "convert.h"
#include "define.h"
#include "mailbox.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

constexpr int64_t kPieceNanos = 50'000'000;  // of a wait, between two looks for signals

void ForgetMemory(void* memories, const hr_status*) {
  mailbox.Post([memories] { delete static_cast<Memories*>(memories); });
}

void ReleaseWork(hr_work* work, Memories memory) {
  auto* kept = new Memories(std::move(memory));
  WithoutGil without;
  if (api.hr_work_test(work) != 0) {
    ForgetMemory(kept, nullptr);
  } else if (hr_status* status = api.hr_work_on_done(work, ForgetMemory, kept)) {
    api.hr_status_release(status);  // the memory is leaked: nobody knows how long it is used
  }
  api.hr_work_release(work);
}

bool HasEnded(hr_work* work) {
  return Released([&] { return api.hr_work_test(work); }) != 0;
}

// The time that a wait has left, in nanoseconds.
class Countdown {
 public:
  explicit Countdown(int64_t nanos) : end_(nanos > 0 ? Now() + nanos : INT64_MAX) {}
  int64_t left() const { return end_ == INT64_MAX ? INT64_MAX : end_ - Now(); }

 private:
  static int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  int64_t end_;
};

}  // namespace

nb::object ToWork(hr_work* work, Memories memory) {
  std::shared_ptr<hr_work> handle(
      work, [forks = fork_count, memory = std::move(memory)](hr_work* last) mutable {
        if (exiting || forks != fork_count) {
          new Memories(std::move(memory));  // a leak: the operation may still use it
          return;
        }
        ReleaseWork(last, std::move(memory));
      });
  return nb::cast(Object<hr_work>{std::move(handle)});
}

hr_status* WaitForWork(hr_work* work, Limits& limits) {
  if (!limits.watches()) return Released([&] { return api.hr_work_wait(work, limits.get()); });
  const Countdown countdown(limits.get()->timeout_nanos);
  for (;;) {
    hr_limits piece = *limits.get();
    piece.interrupted = nullptr;
    piece.timeout_nanos = std::clamp<int64_t>(countdown.left(), 1, kPieceNanos);
    hr_status* status = Released([&] { return api.hr_work_wait(work, &piece); });
    if (status == nullptr || api.hr_status_code(status) != HR_DEADLINE_EXCEEDED) return status;
    if (HasEnded(work)) {  // the deadline was that of a peer
      api.hr_status_release(status);
      return Released([&] { return api.hr_work_wait(work, nullptr); });
    }
    if (limits.HandleSignals() || countdown.left() <= 0) return status;
    api.hr_status_release(status);
  }
}

void Perform(hr_group*, Limits& limits, const std::function<hr_status*(const hr_limits*)>& run,
             const std::function<hr_status*(hr_work**)>& start) {
  if (!limits.watches()) return limits.Check(Released([&] { return run(limits.get()); }));
  hr_work* work = nullptr;
  Check(Released([&] { return start(&work); }));
  hr_status* status = WaitForWork(work, limits);
  Released([&] {
    if (api.hr_work_test(work) == 0) {  // the buffers are the caller's again when this returns
      api.hr_status_release(api.hr_work_cancel(work));
      api.hr_status_release(api.hr_work_wait(work, nullptr));
    }
    api.hr_work_release(work);
  });
  limits.Check(status);
}

namespace {

// A call on a thread of its own.
class Meeting {
 public:
  Meeting(const hr_limits& limits, const std::function<hr_status*(const hr_limits*)>& call)
      : thread_([this, limits, &call] { Run(limits, call); }) {}

  // Returns true if the call has ended.
  bool WaitFor(std::chrono::nanoseconds time) {
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_now_.wait_for(lock, time, [this] { return ended_; });
  }
  void Stop() { stop_ = true; }
  hr_status* Join() {
    thread_.join();
    return status_;
  }

 private:
  void Run(hr_limits limits, const std::function<hr_status*(const hr_limits*)>& call) {
    limits.interrupted = [](void* stop) {
      return static_cast<std::atomic<bool>*>(stop)->load() ? 1 : 0;
    };
    limits.context = &stop_;
    hr_status* status = call(&limits);
    std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    ended_ = true;
    ended_now_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_now_;
  bool ended_ = false;
  std::atomic<bool> stop_{false};
  hr_status* status_ = nullptr;
  std::thread thread_;
};

}  // namespace

void Meet(Limits& limits, const std::function<hr_status*(const hr_limits*)>& call) {
  if (!limits.watches()) return limits.Check(Released([&] { return call(limits.get()); }));
  Meeting meeting(*limits.get(), call);
  while (!Released([&] { return meeting.WaitFor(std::chrono::nanoseconds(kPieceNanos)); })) {
    if (limits.HandleSignals()) meeting.Stop();
  }
  limits.Check(Released([&] { return meeting.Join(); }));
}

// ---- The general form ----

namespace {

bool OutputOfAllRanks(hr_operation_kind kind) {
  return kind == HR_OPERATION_GATHER || kind == HR_OPERATION_ALL_GATHER ||
         kind == HR_OPERATION_ALL_TO_ALL;
}

bool InputOfAllRanks(hr_operation_kind kind) {
  return kind == HR_OPERATION_SCATTER || kind == HR_OPERATION_REDUCE_SCATTER ||
         kind == HR_OPERATION_ALL_TO_ALL;
}

// An hr_operation made of a dict with its fields.
struct Operation {
  Operation(nb::handle dict, hr_group* group, const char* function)
      : settings(dict, {function, "operation"}) {
    value.struct_size = sizeof value;
    settings.Number("kind", &value.kind);
    settings.Number("dtype", &value.dtype);
    settings.Number("count", &value.count);
    settings.Number("op", &value.op);
    settings.Number("peer", &value.peer);
    settings.Number("tag", &value.tag);
    settings.Number("factor", &value.factor);
    const int32_t size = api.hr_group_size(group);
    input = Take("input", false, InputOfAllRanks(value.kind) ? size : 1);
    output = Take("output", true, OutputOfAllRanks(value.kind) ? size : 1);
    value.input = input.data();
    value.output = output.data();
    settings.CheckAllTaken();
  }

  Memory Take(const char* field, bool writable, int32_t ranks) {
    nb::object object = settings.Take(field);
    if (!object.is_valid()) return {};
    Memory memory(object, writable, settings.At(field));
    memory.CheckElements(value.count, value.dtype, ranks, settings.At(field));
    return memory;
  }

  Settings settings;
  hr_operation value{};
  Memory input, output;
};

nb::object GroupStart(nb::handle group_object, nb::handle dict) {
  auto group = Borrow<hr_group>(group_object, {"hr_group_start", "group"});
  Operation operation(dict, group.get(), "hr_group_start");
  hr_work* work = nullptr;
  Check(Released([&] { return api.hr_group_start(group.get(), &operation.value, &work); }));
  return ToWork(work, {operation.input.share(), operation.output.share()});
}

void GroupRun(nb::handle group_object, nb::handle dict, nb::handle timeout, nb::handle cancel) {
  auto group = Borrow<hr_group>(group_object, {"hr_group_run", "group"});
  Operation operation(dict, group.get(), "hr_group_run");
  Limits limits(timeout, cancel, "hr_group_run");
  Perform(
      group.get(), limits,
      [&](const hr_limits* asked) {
        return api.hr_group_run(group.get(), &operation.value, asked);
      },
      [&](hr_work** work) { return api.hr_group_start(group.get(), &operation.value, work); });
}

nb::object GroupExplain(nb::handle group_object, nb::handle dict) {
  auto group = Borrow<hr_group>(group_object, {"hr_group_explain", "group"});
  Operation operation(dict, group.get(), "hr_group_explain");
  hr_text* text = nullptr;
  Check(Released([&] { return api.hr_group_explain(group.get(), &operation.value, &text); }));
  return TakeText(text);
}

void WorkWait(nb::handle object, nb::handle timeout, nb::handle cancel) {
  auto work = Borrow<hr_work>(object, {"hr_work_wait", "work"});
  Limits limits(timeout, cancel, "hr_work_wait");
  limits.Check(WaitForWork(work.get(), limits));
}

void WorkOnDone(nb::handle object, nb::handle callback) {
  auto work = Borrow<hr_work>(object, {"hr_work_on_done", "work"});
  OnDone(callback, [&](auto* trampoline, void* context) {
    return api.hr_work_on_done(work.get(), trampoline, context);
  });
}

void RunOnDone(nb::handle object, nb::handle callback) {
  auto run = Borrow<hr_run>(object, {"hr_run_on_done", "run"});
  OnDone(callback, [&](auto* trampoline, void* context) {
    return api.hr_run_on_done(run.get(), trampoline, context);
  });
}

// (key, exception or None)
nb::object ToPython(const hr_completion& completion) {
  return nb::make_tuple(completion.key, ExceptionOf(completion.failure));
}

nb::object QueuePoll(nb::handle object) {
  auto queue = Borrow<hr_queue>(object, {"hr_queue_poll", "queue"});
  hr_completion completion{};
  completion.struct_size = sizeof completion;
  int32_t found = 0;
  Check(Released([&] { return api.hr_queue_poll(queue.get(), &completion, &found); }));
  return found != 0 ? ToPython(completion) : nb::none();
}

nb::object QueueWait(nb::handle object, nb::handle timeout, nb::handle cancel) {
  auto queue = Borrow<hr_queue>(object, {"hr_queue_wait", "queue"});
  Limits limits(timeout, cancel, "hr_queue_wait");
  hr_completion completion{};
  completion.struct_size = sizeof completion;
  limits.Check(Released([&] { return api.hr_queue_wait(queue.get(), limits.get(), &completion); }));
  return ToPython(completion);
}

}  // namespace

void DefineOperations(nb::module_& module) {
  Def<&GroupStart>(module, "hr_group_start");
  Def<&GroupRun>(module, "hr_group_run");
  Def<&GroupExplain>(module, "hr_group_explain");
  Def<&WorkWait>(module, "hr_work_wait");
  Def<&WorkOnDone>(module, "hr_work_on_done");
  Def<&RunOnDone>(module, "hr_run_on_done");
  Def<&QueuePoll>(module, "hr_queue_poll");
  Def<&QueueWait>(module, "hr_queue_wait");
}

}  // namespace hr::python
