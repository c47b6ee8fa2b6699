#include "runtime/comm/peer_memory.h"

#include <sys/uio.h>
#include <unistd.h>

namespace hr::comm {

uint32_t PeerMemory::OwnProcess() { return static_cast<uint32_t>(::getpid()); }

bool PeerMemory::Open(uint32_t pid, uint64_t address, uint64_t secret) {
  uint64_t found = 0;
  pid_ = pid;
  const bool is_it =
      Read(address, reinterpret_cast<std::byte*>(&found), sizeof found) && found == secret;
  if (!is_it) pid_ = 0;
  return is_it;
}

bool PeerMemory::Read(uint64_t address, std::byte* to, size_t bytes) const {
#ifdef __linux__
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(static_cast<uintptr_t>(address)), bytes};
  return ::process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(bytes);
#else
  (void)address, (void)to, (void)bytes;
  return false;
#endif
}

}  // namespace hr::comm
