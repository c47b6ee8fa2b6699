// Indices and labels: int64 or int32, read as int64.
#pragma once

#include <cstdint>

namespace hr::cpu {

struct IntView {
  const void* data = nullptr;
  bool is_int64 = true;

  int64_t operator[](int64_t i) const {
    return is_int64 ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

}  // namespace hr::cpu
