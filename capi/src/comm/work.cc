#include "capi/src/comm/handles.h"
#include "capi/src/queue.h"

using hr::capi::FromHandle;
using hr::capi::Wrap;

extern "C" {

void hr_work_release(hr_work* work) {
  if (work != nullptr) hr::comm::WorkRef::Adopt(FromHandle(work));
}

int hr_work_test(hr_work* work) { return work == nullptr || FromHandle(work)->Test() ? 1 : 0; }

hr_status* hr_work_wait(hr_work* work, const hr_limits* limits) {
  HR_REQUIRE(work);
  hr::comm::Work& inner = *FromHandle(work);
  if (inner.done()) return inner.status().ok() ? nullptr : Wrap(inner.status().Clone());
  HR_ASSIGN_OR_WRAP(auto call_limits, hr::capi::CommLimits(limits, inner.options()));
  return Wrap(inner.Wait(call_limits));
}

hr_status* hr_work_on_done(hr_work* work, void (*callback)(void* context, const hr_status* status),
                           void* context) {
  HR_REQUIRE(work);
  HR_REQUIRE(callback);
  hr::comm::Work& inner = *FromHandle(work);
  inner.OnDone(hr::capi::HostCallback{callback, context, inner.options().poller->threads()});
  return nullptr;
}

hr_status* hr_work_enqueue(hr_work* work, hr_queue* queue, uint64_t key) {
  HR_REQUIRE(work);
  HR_REQUIRE(queue);
  FromHandle(work)->OnDone(hr::capi::Enqueue{queue->rep, key});
  return nullptr;
}

hr_status* hr_work_cancel(hr_work* work) {
  HR_REQUIRE(work);
  FromHandle(work)->Cancel();
  return nullptr;
}

}  // extern "C"
