// Memory that processes of one host share: what a transport may offer beyond messages.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace hr::comm {

// A block that stays mapped as long as this lives, whatever becomes of the others.
class SharedBlock {
 public:
  virtual ~SharedBlock() = default;
  virtual std::byte* data() const = 0;
};

// Thread-compatible, as the transport it belongs to.
class MemorySharer {
 public:
  virtual ~MemorySharer() = default;
  // Zeroed memory, and a ticket of at most kMaxTicket bytes with which peers open it, as long as
  // the block that was created lives. RESOURCE_EXHAUSTED.
  virtual Result<std::unique_ptr<SharedBlock>> Create(size_t bytes, std::string* ticket) = 0;
  // UNAVAILABLE if this process cannot reach it; not before the peer has created it.
  virtual Result<std::unique_ptr<SharedBlock>> Open(std::string_view ticket, size_t bytes) = 0;
  static constexpr size_t kMaxTicket = 120;
};

}  // namespace hr::comm
