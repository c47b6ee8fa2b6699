#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/flight_log.h"

namespace hr::comm {
namespace {

Status NoRoom(std::string_view where, int error) {
  return ResourceExhausted("cannot keep a flight recorder in ", where, ": ", std::strerror(error));
}

Result<MappedFlightLog> Map(int fd, int flags, std::string_view where) {
  void* mapped = ::mmap(nullptr, sizeof(FlightLog), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (mapped == MAP_FAILED) return NoRoom(where, errno);
  MappedFlightLog log(static_cast<FlightLog*>(mapped));
  log->magic = FlightLog::kMagic;
  log->record_bytes = sizeof(FlightRecord);
  return log;
}

}  // namespace

void UnmapFlightLog::operator()(FlightLog* log) const { ::munmap(log, sizeof *log); }

Result<MappedFlightLog> NewFlightLog() {
  return Map(-1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, "memory");
}

// A new file rather than the old one cut short, which another process may have mapped.
Result<MappedFlightLog> NewFlightLog(const std::string& path) {
  HR_RETURN_IF_ERROR(MakeDirectories(std::string(DirectoryOf(path))));
  ::unlink(path.c_str());
  const Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return NoRoom(path, errno);
  if (int error = ::posix_fallocate(fd.get(), 0, sizeof(FlightLog)); error != 0) {
    ::unlink(path.c_str());
    return NoRoom(path, error);
  }
  return Map(fd.get(), MAP_SHARED, path);
}

}  // namespace hr::comm
