#include "transport/tcp/sleeper.h"

#include <uv.h>

#include "runtime/base/errors.h"
#include "runtime/base/wake_event.h"

namespace hr::tcp {
namespace {

constexpr int kLoopDescriptors = 6;

// uv_loop_init loses descriptors if it runs out of them halfway, so it is only called if it
// will get as many as it takes.
Status CheckDescriptorsForLoop() {
  WakeEvent probes[kLoopDescriptors];
  for (WakeEvent& probe : probes) {
    HR_ASSIGN_OR_RETURN(probe, WakeEvent::Create());
  }
  return {};
}

}  // namespace

struct Sleeper::State {
  uv_loop_t loop;
  bool ready = false;  // a watched socket was ready at the last look
};

struct Sleeper::Watch::Handle {
  uv_poll_t poll;
  State* state;
  int wanted = 0;
};

Sleeper::Sleeper(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Sleeper>> Sleeper::Create() {
  HR_RETURN_IF_ERROR(CheckDescriptorsForLoop());
  auto state = std::make_unique<State>();
  if (int error = uv_loop_init(&state->loop); error != 0) {
    return ResourceExhausted("cannot create an event loop: ", uv_strerror(error));
  }
  return std::unique_ptr<Sleeper>(new Sleeper(std::move(state)));
}

Sleeper::~Sleeper() {
  while (uv_loop_close(&state_->loop) == UV_EBUSY) uv_run(&state_->loop, UV_RUN_NOWAIT);
}

Result<std::unique_ptr<Sleeper::Watch>> Sleeper::Add(int socket) {
  auto* handle = new Watch::Handle{.poll = {}, .state = state_.get()};
  if (int error = uv_poll_init(&state_->loop, &handle->poll, socket); error != 0) {
    delete handle;
    return ResourceExhausted("cannot watch a connection: ", uv_strerror(error));
  }
  handle->poll.data = handle;
  return std::unique_ptr<Watch>(new Watch(handle));
}

Sleeper::Watch::~Watch() {
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->poll),
           [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
}

void Sleeper::Watch::Want(bool read, bool write) {
  const int wanted = (read ? UV_READABLE : 0) | (write ? UV_WRITABLE : 0);
  if (std::exchange(handle_->wanted, wanted) == wanted) return;
  if (wanted == 0) {
    uv_poll_stop(&handle_->poll);
    return;
  }
  uv_poll_start(&handle_->poll, wanted, [](uv_poll_t* poll, int, int) {
    static_cast<Handle*>(poll->data)->state->ready = true;
  });
}

bool Sleeper::Arm() {
  state_->ready = false;
  uv_run(&state_->loop, UV_RUN_NOWAIT);
  return !state_->ready;
}

int Sleeper::wait_handle() const { return uv_backend_fd(&state_->loop); }

}  // namespace hr::tcp
