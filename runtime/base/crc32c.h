// CRC-32C (Castagnoli polynomial, reflected), as in iSCSI (RFC 3720) and TensorBoard's records.
#pragma once

#include <cstdint>

#include "runtime/base/file.h"

namespace hr {

// Continues from `crc`, so long inputs may come in pieces: Crc32c(b, Crc32c(a)).
uint32_t Crc32c(Bytes bytes, uint32_t crc = 0);

}  // namespace hr
