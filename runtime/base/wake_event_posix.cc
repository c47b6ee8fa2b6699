#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "runtime/base/errors.h"
#include "runtime/base/wake_event.h"

namespace hr {
namespace {

Status OutOfDescriptors() {
  return ResourceExhausted("cannot create an event: ", std::strerror(errno),
                           "; raise the limit of open files (ulimit -n)");
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<WakeEvent> WakeEvent::Create() {
  WakeEvent event;
#ifdef __linux__
  event.read_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.read_.valid()) return OutOfDescriptors();
#else
  int ends[2];
  if (::pipe(ends) != 0) return OutOfDescriptors();
  event.read_ = Descriptor(ends[0]);
  event.write_ = Descriptor(ends[1]);
  for (int fd : ends) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
#endif
  return event;
}

void WakeEvent::Set(int set_handle) {
  const uint64_t one = 1;
  // EAGAIN means that it is set already.
  while (::write(set_handle, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// Writing to anything else might wait, or raise SIGPIPE.
bool WakeEvent::IsOne(int set_handle) {
#ifdef __linux__
  constexpr std::string_view kEvent = "anon_inode:[eventfd]";
  char target[kEvent.size() + 1];
  const ssize_t size = ::readlink(Cat("/proc/self/fd/", set_handle).c_str(), target, sizeof target);
  return size < 0 || std::string_view(target, static_cast<size_t>(size)) == kEvent;
#else
  return set_handle >= 0;
#endif
}

void WakeEvent::Clear() const {
  uint64_t count;
  while (::read(read_.get(), &count, sizeof count) > 0) {
    if (!write_.valid()) return;
  }
}

void WaitReadable(std::span<const int> handles, int64_t timeout_nanos) {
  pollfd few[8];
  std::vector<pollfd> many(handles.size() > std::size(few) ? handles.size() : 0);
  const std::span<pollfd> polled(many.empty() ? few : many.data(), handles.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    polled[i] = {.fd = handles[i], .events = POLLIN, .revents = 0};
  }
#ifdef __linux__
  const timespec timeout = {timeout_nanos / 1'000'000'000, timeout_nanos % 1'000'000'000};
  ::ppoll(polled.data(), polled.size(), timeout_nanos < 0 ? nullptr : &timeout, nullptr);
#else
  ::poll(polled.data(), polled.size(),
         timeout_nanos < 0 ? -1 : static_cast<int>(timeout_nanos / 1'000'000 + 1));
#endif
}

}  // namespace hr
