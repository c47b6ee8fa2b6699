// The description of an operation of a group. All ranks must agree on it.
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
  kExscan = 11,  // the sum of what the ranks before this one give; rank 0 gets nothing
};
// What an operation is called in calls and messages, and as an operator of headrace.comm (empty: it
// is none).
struct OpKindNames {
  std::string_view call;
  std::string_view op;
};
inline constexpr OpKindNames kOpKindNames[] = {{"send", "Send"},
                                               {"recv", "Recv"},
                                               {"barrier", "Barrier"},
                                               {"broadcast", "Broadcast"},
                                               {"reduce", "Reduce"},
                                               {"all_reduce", "AllReduce"},
                                               {"gather", ""},
                                               {"all_gather", "AllGather"},
                                               {"scatter", ""},
                                               {"reduce_scatter", "ReduceScatter"},
                                               {"all_to_all", "AllToAll"},
                                               {"exscan", "Exscan"}};
std::string_view OpKindName(OpKind kind);

enum class ReduceOp : int32_t {
  kSum = 0,
  kProduct = 1,
  kMin = 2,
  kMax = 3,
  kAverage = 4,           // sum / ranks; integers round towards zero
  kPreMultipliedSum = 5,  // sum of factor * input
};
inline constexpr std::string_view kReduceOpNames[] = {"sum", "product", "min",
                                                      "max", "average", "pre_multiplied_sum"};
std::string_view ReduceOpName(ReduceOp op);

// `count` is a number of elements, as in NCCL: of one rank's contribution (gather, all_gather), of
// one rank's result (scatter, reduce_scatter), of what one rank sends to another (all_to_all), or
// of the buffer (all others).
struct Operation {
  OpKind kind = OpKind::kBarrier;
  DType dtype = DType::kUint8;
  uint64_t count = 0;
  ReduceOp reduce_op = ReduceOp::kSum;
  double factor = 1;  // of kPreMultipliedSum; it may differ between ranks
  int peer = 0;       // the root; of a send the receiver, of a receive the sender
  uint32_t tag = 0;   // of send and recv: a receive takes the first message with its tag
  // Of a graph's first collective in a run: a hash of all operations that the run is to post. 0: it
  // is none. Ranks that run different parts of a graph learn it before they exchange anything.
  uint32_t run = 0;

  bool point_to_point() const { return kind == OpKind::kSend || kind == OpKind::kRecv; }
  bool reduces() const {
    return kind == OpKind::kAllReduce || kind == OpKind::kReduce ||
           kind == OpKind::kReduceScatter || kind == OpKind::kExscan;
  }
  bool rooted() const {
    return kind == OpKind::kBroadcast || kind == OpKind::kReduce || kind == OpKind::kGather ||
           kind == OpKind::kScatter;
  }
  uint64_t bytes() const { return count * DTypeSize(dtype); }
  // Returns "all_reduce(sum, float32[1024])" and the like.
  std::string Text() const;
  // Fails if the operation is impossible for rank `rank` in a group of `size` ranks.
  Status Check(int rank, int size) const;
  // Fails if a buffer is missing, or if the two overlap in a way that the operation does not
  // support. They may be the same buffer if they have the same size. If one has `size` blocks and
  // the other has one, the smaller may be block `rank` of the larger.
  Status CheckBuffers(int rank, int size, const void* input, const void* output) const;
  // Returns a hash of what all ranks must agree on, by which ranks detect that they differ.
  uint64_t Label(uint64_t epoch) const;
  // Return the number of elements in a rank's input and output buffers; 0 if it has none.
  uint64_t InputCount(int rank, int size) const;
  uint64_t OutputCount(int rank, int size) const;
};

}  // namespace hr::comm
