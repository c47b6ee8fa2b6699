#include "capi/src/queue.h"

namespace hr::capi {
namespace {

// Nothing is taken off a queue for a struct that cannot hold the first version's fields.
Status CheckRoom(const hr_completion& out) {
  constexpr size_t kLeast = offsetof(hr_completion, failure) + sizeof(out.failure);
  if (out.struct_size >= kLeast) return {};
  return InvalidArgument("hr_completion.struct_size is ", out.struct_size,
                         "; set it to sizeof(hr_completion)");
}

hr_status* Give(CompletionQueue::Completion completion, hr_completion* out) {
  out->key = completion.key;
  out->failure = Wrap(std::move(completion.status));
  return nullptr;
}

}  // namespace
}  // namespace hr::capi

using hr::capi::CheckRoom;
using hr::capi::Give;

extern "C" {

hr_status* hr_queue_create(hr_env* env, hr_queue** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  *out = new hr_queue{env->rep, std::make_shared<hr::CompletionQueue>()};
  return nullptr;
}

void hr_queue_release(hr_queue* queue) { delete queue; }

hr_status* hr_queue_poll(hr_queue* queue, hr_completion* out, int32_t* out_found) {
  HR_REQUIRE(queue);
  HR_REQUIRE(out);
  HR_REQUIRE(out_found);
  HR_WRAP_IF_ERROR(CheckRoom(*out));
  auto completion = queue->rep->Poll();
  *out_found = completion.has_value() ? 1 : 0;
  return completion.has_value() ? Give(*std::move(completion), out) : nullptr;
}

hr_status* hr_queue_wait(hr_queue* queue, const hr_limits* limits, hr_completion* out) {
  HR_REQUIRE(queue);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(CheckRoom(*out));
  const hr_queue held = *queue;  // the handle may go while this waits
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, held.env->clock()));
  HR_ASSIGN_OR_WRAP(auto&& completion, held.rep->Wait(checked));
  return Give(std::move(completion), out);
}

hr_status* hr_queue_descriptor(hr_queue* queue, int32_t* out) {
  HR_REQUIRE(queue);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(*out, queue->rep->Handle());
  return nullptr;
}

hr_status* hr_run_enqueue(hr_run* run, hr_queue* queue, uint64_t key) {
  HR_REQUIRE(run);
  HR_REQUIRE(queue);
  run->rep->OnDone(hr::capi::Enqueue{queue->rep, key});
  return nullptr;
}

}  // extern "C"
