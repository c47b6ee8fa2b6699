// Moving parts of sequences. Elements are `bytes` long and not looked at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::cpu {

// x [outer, inner, …] of `row_bytes` each, where one of the two axes is time and the other the
// batch. Reverses the first lengths[n] steps of each sequence n; lengths are from 0 to the steps.
struct ReverseShape {
  int64_t steps, batch;
  bool time_first;
  size_t row_bytes;
};
void ReverseSequences(const ReverseShape& shape, const int64_t* lengths, const void* x, void* y);

// A cache [batch, heads, length, row] and the rows [batch, heads, written, row] that are written
// into it: those of sequence n from position starts[n] on, or from 0 if `starts` is null. Positions
// that pass the length begin again at 0.
struct CacheShape {
  int64_t batch, heads, length, written;
  size_t row_bytes;
};
void WriteCache(const CacheShape& shape, const int64_t* starts, const void* rows, void* cache);
void ReadCache(const CacheShape& shape, const int64_t* starts, const void* cache, void* rows);

}  // namespace hr::cpu
