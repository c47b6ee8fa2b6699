#include "transport/shm/memory_sharer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/host.h"
#include "transport/shm/segment.h"

namespace hr::shm {
namespace {

class SegmentBlock final : public comm::SharedBlock {
 public:
  explicit SegmentBlock(Segment segment) : segment_(std::move(segment)) {}
  std::byte* data() const override { return segment_.data(); }

 private:
  Segment segment_;
};

class SegmentSharer final : public comm::MemorySharer {
 public:
  Result<std::unique_ptr<comm::SharedBlock>> Create(size_t bytes, std::string* ticket) override {
    HR_ASSIGN_OR_RETURN(Segment segment, Segment::Create(bytes + sizeof(uint64_t)));
    const uint64_t proof = UniqueBits();
    std::memcpy(segment.data() + bytes, &proof, sizeof proof);
    *ticket = Cat(proof, " /proc/", ::getpid(), "/fd/", segment.descriptor());
    return std::make_unique<SegmentBlock>(std::move(segment));
  }

  Result<std::unique_ptr<comm::SharedBlock>> Open(std::string_view ticket, size_t bytes) override {
    uint64_t proof = 0, found = 0;
    auto [at, error] = std::from_chars(ticket.data(), ticket.data() + ticket.size(), proof);
    const std::string path(at, ticket.data() + ticket.size());
    if (error != std::errc() || !path.starts_with(" /proc/")) {
      return InvalidArgument("expected the ticket of a memory block, got '", ticket, "'");
    }
    Descriptor memory(::open(path.c_str() + 1, O_RDWR | O_CLOEXEC));
    if (!memory.valid()) {
      return Unavailable("cannot open the shared memory of a peer: ", std::strerror(errno));
    }
    HR_ASSIGN_OR_RETURN(Segment segment, Segment::Map(std::move(memory), bytes + sizeof(uint64_t)));
    std::memcpy(&found, segment.data() + bytes, sizeof found);
    if (found != proof) return Unavailable("the ticket is of another process's memory");
    segment.CloseDescriptor();
    return std::make_unique<SegmentBlock>(std::move(segment));
  }
};

}  // namespace

std::unique_ptr<comm::MemorySharer> CreateMemorySharer() {
  return std::make_unique<SegmentSharer>();
}

}  // namespace hr::shm
