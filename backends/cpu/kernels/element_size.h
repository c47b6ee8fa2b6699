// Kernels that move elements see only how large they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::cpu {

// Calls body.template operator()<U>() with the unsigned integer of 1, 2, 4 or 8 bytes.
template <typename Body>
decltype(auto) ForElementSize(size_t bytes, Body&& body) {
  switch (bytes) {
    case 1: return body.template operator()<uint8_t>();
    case 2: return body.template operator()<uint16_t>();
    case 4: return body.template operator()<uint32_t>();
    default: return body.template operator()<uint64_t>();
  }
}

}  // namespace hr::cpu
