#include "runtime/comm/operation.h"

#include <iterator>

namespace hr::comm {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::string_view OpKindName(OpKind kind) {
  const auto i = static_cast<size_t>(kind);
  return i < std::size(kOpKindNames) ? kOpKindNames[i].call : "unknown";
}

std::string_view ReduceOpName(ReduceOp op) {
  const auto i = static_cast<size_t>(op);
  return i < std::size(kReduceOpNames) ? kReduceOpNames[i] : "unknown";
}

std::string Operation::Text() const {
  std::string text = Cat(OpKindName(kind), "(");
  if (reduces()) text += Cat(ReduceOpName(reduce_op), ", ");
  if (kind != OpKind::kBarrier) text += Cat(DTypeName(dtype), "[", count, "]");
  if (rooted()) text += Cat(", root ", peer);
  if (kind == OpKind::kSend) text += Cat(" to ", peer);
  if (kind == OpKind::kRecv) text += Cat(" from ", peer);
  text += ")";
  return run == 0 ? text : Cat(text, " as the first of the operations #", run, " of a graph");
}

Status Operation::Check(int rank, int size) const {
  if (OpKindName(kind) == "unknown") {
    return InvalidArgument("expected an operation, got code ", static_cast<int>(kind));
  }
  if (kind == OpKind::kBarrier) return {};
  const size_t width = DTypeSize(dtype);
  if (!IsSupported(dtype) || width == 0) {
    return InvalidArgument(Text(), ": expected a dtype of fixed size, got ", DTypeName(dtype));
  }
  // A whole group's elements must be countable in bytes.
  if (count > static_cast<uint64_t>(INT64_MAX) / width / static_cast<uint64_t>(size)) {
    return InvalidArgument(Text(), ": the count is beyond what memory can hold");
  }
  if ((rooted() || point_to_point()) && (peer < 0 || peer >= size)) {
    return InvalidArgument(Text(), ": expected a rank from 0 to ", size - 1, ", got ", peer);
  }
  if (point_to_point() && peer == rank) {
    return InvalidArgument(Text(), ": a rank cannot exchange messages with itself; copy instead");
  }
  if (!reduces()) return {};
  if (ReduceOpName(reduce_op) == "unknown") {
    return InvalidArgument("expected a reduction, got code ", static_cast<int>(reduce_op));
  }
  if (kind == OpKind::kExscan && reduce_op != ReduceOp::kSum) {
    return InvalidArgument(Text(), ": an exclusive scan is a sum, got ", ReduceOpName(reduce_op));
  }
  if (!IsFloating(dtype) && !IsInteger(dtype)) {
    return InvalidArgument(Text(), ": ", DTypeName(dtype),
                           " cannot be reduced; cast it to a number");
  }
  return {};
}

Status Operation::CheckBuffers(int rank, int size, const void* input, const void* output) const {
  const uint64_t width = kind == OpKind::kBarrier ? 0 : DTypeSize(dtype);
  const uint64_t in = InputCount(rank, size) * width, out = OutputCount(rank, size) * width;
  if (in == 0 && out == 0) return {};
  if ((input == nullptr && in > 0) || (output == nullptr && out > 0)) {
    return InvalidArgument(Text(), ": expected ",
                           input == nullptr && in > 0 ? "an input" : "an output",
                           " buffer, got null");
  }
  if (in == 0 || out == 0) return {};
  const auto from = reinterpret_cast<uintptr_t>(input), to = reinterpret_cast<uintptr_t>(output);
  if (from + in <= to || to + out <= from) return {};
  const uint64_t block = bytes() * static_cast<uint64_t>(rank);
  if (in == out ? from == to : in < out ? from == to + block : to == from + block) return {};
  return InvalidArgument(Text(), ": input and output overlap; in place, they must be the same",
                         in == out ? "" : ", or the smaller one this rank's block of the larger");
}

uint64_t Operation::Label(uint64_t epoch) const {
  // Both ends of a message have the same label.
  const uint64_t what = point_to_point() ? 0 : static_cast<uint64_t>(kind);
  uint64_t label = Mix(epoch);
  label = Mix(label ^ (what << 32 | static_cast<uint32_t>(dtype)));
  label = Mix(label ^ count);
  if (reduces()) label = Mix(label ^ static_cast<uint64_t>(reduce_op));
  if (rooted()) label = Mix(label ^ (static_cast<uint64_t>(peer) + 1));
  if (run != 0) label = Mix(label ^ run);
  return label;
}

uint64_t Operation::InputCount(int rank, int size) const {
  switch (kind) {
    case OpKind::kBarrier:
    case OpKind::kRecv: return 0;
    case OpKind::kBroadcast: return rank == peer ? count : 0;
    case OpKind::kScatter: return rank == peer ? count * size : 0;
    case OpKind::kReduceScatter:
    case OpKind::kAllToAll: return count * size;
    default: return count;
  }
}

uint64_t Operation::OutputCount(int rank, int size) const {
  switch (kind) {
    case OpKind::kBarrier:
    case OpKind::kSend: return 0;
    case OpKind::kReduce: return rank == peer ? count : 0;
    case OpKind::kExscan: return rank == 0 ? 0 : count;
    case OpKind::kGather: return rank == peer ? count * size : 0;
    case OpKind::kAllGather:
    case OpKind::kAllToAll: return count * size;
    default: return count;
  }
}

}  // namespace hr::comm
