// Memory of another process of this host, read by the kernel (process_vm_readv(2) of Linux), which
// allows it to processes of the same user, unless the system's settings are stricter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::comm {

class PeerMemory {
 public:
  static uint32_t OwnProcess();

  // Whether process `pid` can be read here, and is the one that has `secret` at `address`. On
  // another host, or in another namespace, a process of that number is another one.
  bool Open(uint32_t pid, uint64_t address, uint64_t secret);
  bool open() const { return pid_ != 0; }
  // False if it cannot be read (any more).
  bool Read(uint64_t address, std::byte* to, size_t bytes) const;

 private:
  uint32_t pid_ = 0;
};

}  // namespace hr::comm
