#include "transport/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::shm {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status NoMemory(size_t bytes, int error) {
  return ResourceExhausted(
      "cannot get ", bytes, " bytes of shared memory: ", std::strerror(error),
      "; free memory, raise the limit of open files, or use another transport");
}

}  // namespace

Result<Segment> Segment::Create(size_t bytes) {
  Descriptor memory(::memfd_create("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return NoMemory(bytes, errno);
  if (int error = ::posix_fallocate(memory.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return NoMemory(bytes, error);
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory(bytes, errno);
  return Map(std::move(memory), bytes);
}

Result<Segment> Segment::Map(Descriptor memory, size_t bytes) {
  struct stat info {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstat(memory.get(), &info) != 0 || static_cast<size_t>(info.st_size) != bytes ||
      seals < 0 || (seals & kSeals) != kSeals) {
    return DataLoss("the peer's shared memory is not of the agreed size or not sealed");
  }
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return NoMemory(bytes, errno);
  Segment segment;
  segment.bytes_ = {static_cast<std::byte*>(mapped), bytes};
  segment.memory_ = std::move(memory);
  return segment;
}

Segment::~Segment() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace hr::shm
