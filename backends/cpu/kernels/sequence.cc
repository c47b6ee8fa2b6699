#include "backends/cpu/kernels/sequence.h"

#include <cstring>

namespace hr::cpu {
namespace {

// Calls copy(place in the cache, place in the rows), in bytes, for every row.
template <typename Copy>
void ForCacheRows(const CacheShape& shape, const int64_t* starts, const Copy& copy) {
  if (shape.written == 0 || shape.row_bytes == 0) return;  // the cache may have no positions
  for (int64_t n = 0; n < shape.batch; ++n) {
    const int64_t start = starts == nullptr ? 0 : starts[n] % shape.length;
    for (int64_t head = n * shape.heads; head < (n + 1) * shape.heads; ++head) {
      for (int64_t i = 0; i < shape.written; ++i) {
        int64_t at = (start + i) % shape.length;
        if (at < 0) at += shape.length;
        copy(static_cast<size_t>(head * shape.length + at) * shape.row_bytes,
             static_cast<size_t>(head * shape.written + i) * shape.row_bytes);
      }
    }
  }
}

}  // namespace

void ReverseSequences(const ReverseShape& shape, const int64_t* lengths, const void* x, void* y) {
  if (shape.row_bytes == 0) return;
  const auto place = [&](int64_t t, int64_t n) {
    const int64_t row = shape.time_first ? t * shape.batch + n : n * shape.steps + t;
    return static_cast<size_t>(row) * shape.row_bytes;
  };
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t t = 0; t < shape.steps; ++t) {
      const int64_t from = t < lengths[n] ? lengths[n] - 1 - t : t;
      std::memcpy(static_cast<std::byte*>(y) + place(t, n),
                  static_cast<const std::byte*>(x) + place(from, n), shape.row_bytes);
    }
  }
}

void WriteCache(const CacheShape& shape, const int64_t* starts, const void* rows, void* cache) {
  ForCacheRows(shape, starts, [&](size_t at, size_t row) {
    std::memcpy(static_cast<std::byte*>(cache) + at, static_cast<const std::byte*>(rows) + row,
                shape.row_bytes);
  });
}

void ReadCache(const CacheShape& shape, const int64_t* starts, const void* cache, void* rows) {
  ForCacheRows(shape, starts, [&](size_t at, size_t row) {
    std::memcpy(static_cast<std::byte*>(rows) + row, static_cast<const std::byte*>(cache) + at,
                shape.row_bytes);
  });
}

}  // namespace hr::cpu
