// Blocks of memory shared between processes of one user on one host.
//
// A ticket names the creator's descriptor in /proc, which the kernel opens for processes of the
// same user that see it there; a random number at the block's end proves that it is the right one.
#pragma once

#include <memory>

#include "runtime/comm/shared_memory.h"

namespace hr::shm {

std::unique_ptr<comm::MemorySharer> CreateMemorySharer();

}  // namespace hr::shm
