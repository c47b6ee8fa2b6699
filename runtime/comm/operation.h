// What a rank asks its group to do: the description that all ranks must agree on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/errors.h"

namespace hr::comm {

// Values are part of the wire protocol (through the label) and of the C ABI.
enum class OpKind : int32_t {
  kSend = 0,
  kRecv = 1,
  kBarrier = 2,
  kBroadcast = 3,
  kReduce = 4,
  kAllReduce = 5,
  kGather = 6,
  kAllGather = 7,
  kScatter = 8,
  kReduceScatter = 9,
  kAllToAll = 10,
};
std::string_view OpKindName(OpKind kind);

enum class ReduceOp : int32_t {
  kSum = 0,
  kProduct = 1,
  kMin = 2,
  kMax = 3,
  kAverage = 4,           // sum / ranks; integers round towards zero
  kPreMultipliedSum = 5,  // sum of factor * input
};
std::string_view ReduceOpName(ReduceOp op);

// Counts are of elements, as in NCCL: of one rank's contribution (gather, all_gather), of one
// rank's result (scatter, reduce_scatter), of what one rank sends another (all_to_all), else of the
// buffer.
struct Operation {
  OpKind kind = OpKind::kBarrier;
  DType dtype = DType::kUint8;
  uint64_t count = 0;
  ReduceOp reduce_op = ReduceOp::kSum;
  double factor = 1;  // of kPreMultipliedSum; each rank's own
  int peer = 0;       // the root, or whom to send to or receive from
  uint32_t tag = 0;   // of send and recv: a receive takes the first message with its tag

  bool point_to_point() const { return kind == OpKind::kSend || kind == OpKind::kRecv; }
  bool reduces() const {
    return kind == OpKind::kAllReduce || kind == OpKind::kReduce || kind == OpKind::kReduceScatter;
  }
  bool rooted() const {
    return kind == OpKind::kBroadcast || kind == OpKind::kReduce || kind == OpKind::kGather ||
           kind == OpKind::kScatter;
  }
  uint64_t bytes() const { return count * DTypeSize(dtype); }
  // "all_reduce(sum, float32[1024])"
  std::string Text() const;
  // A failure where no group of `size` ranks, of which this is `rank`, can do it.
  Status Check(int rank, int size) const;
  // A failure where a buffer is missing, or where the two overlap in a way that the operation
  // cannot do. In place: they may be the same where both have the same size; where one has `size`
  // blocks and the other one, that one may be block `rank` of the larger.
  Status CheckBuffers(int rank, int size, const void* input, const void* output) const;
  // Equal where ranks agree, and hardly ever elsewhere.
  uint64_t Label(uint64_t epoch) const;
  // Elements of this rank's input and output buffers; 0 where it has none.
  uint64_t InputCount(int rank, int size) const;
  uint64_t OutputCount(int rank, int size) const;
};

}  // namespace hr::comm
