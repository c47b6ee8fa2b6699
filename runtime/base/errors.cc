#include "runtime/base/errors.h"

namespace hr::internal {

Status Failure(uint64_t what, ...) {
  va_list pieces;
  va_start(pieces, what);
  Status status(static_cast<Code>(what & 0xFF), ConcatenateList(what >> 8, pieces));
  va_end(pieces);
  return status;
}

}  // namespace hr::internal
