// Trees, chains and stars around a root. Ranks are counted from the root.
#include "transport/collective/builder.h"

namespace hr::collective {
namespace {

struct FromRoot {
  explicit FromRoot(const ScheduleBuilder& b)
      : root(b.operation.peer), size(b.size), place((b.rank + size - root) % size) {}
  int Rank(int at) const { return (at + root) % size; }
  const int root, size, place;
};

}  // namespace

void BinomialBroadcast(ScheduleBuilder& b) {
  const FromRoot tree(b);
  const Slice data = b.Whole(Place::kOutput);
  int reach = 1;  // this rank's subtree: places below place + reach
  if (tree.place == 0) {
    b.Copy(b.Whole(Place::kInput), data);
    while (reach < b.size) reach *= 2;
  } else {
    while (tree.place % (2 * reach) == 0) reach *= 2;
    b.Await(b.Recv(tree.Rank(tree.place - reach), data));
  }
  for (int distance = reach / 2; distance > 0; distance /= 2) {
    if (tree.place + distance < b.size) b.Send(tree.Rank(tree.place + distance), data);
  }
}

void ChainBroadcast(ScheduleBuilder& b) {
  const FromRoot chain(b);
  const Slice data = b.Whole(Place::kOutput);
  if (chain.place == 0) b.Copy(b.Whole(Place::kInput), data);
  const std::vector<Slice> slices = b.Sliced(data);
  std::vector<uint32_t> received(slices.size(), ScheduleBuilder::kNone);
  for (size_t i = 0; chain.place > 0 && i < slices.size(); ++i) {
    received[i] = b.Recv(chain.Rank(chain.place - 1), slices[i]);
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    b.Await(received[i]);
    if (chain.place + 1 < b.size) b.Send(chain.Rank(chain.place + 1), slices[i]);
  }
}

void ReduceToRoot(ScheduleBuilder& b, Slice sum, Slice other) {
  const FromRoot tree(b);
  for (int distance = 1; distance < b.size; distance *= 2) {
    if (tree.place & distance) {
      b.Send(tree.Rank(tree.place - distance), sum);
      return;
    }
    if (tree.place + distance >= b.size) continue;
    b.Await(b.Recv(tree.Rank(tree.place + distance), other));
    b.Combine(sum, other, sum);
  }
}

void BinomialReduce(ScheduleBuilder& b) {
  Slice sum = b.Whole(Place::kOutput);
  if (b.rank != b.operation.peer) sum = b.Scratch(sum.bytes);
  b.Prepare(b.Whole(Place::kInput), sum);
  ReduceToRoot(b, sum, b.Scratch(sum.bytes));
  if (b.rank == b.operation.peer) b.Complete(sum);
}

void StarGather(ScheduleBuilder& b) {
  const uint64_t count = b.operation.count;
  if (b.rank != b.operation.peer) {
    b.Send(b.operation.peer, b.Whole(Place::kInput));
    return;
  }
  for (int rank = 0; rank < b.size; ++rank) {
    const Slice block = b.Elements(Place::kOutput, count * rank, count * (rank + 1));
    rank == b.rank ? b.Copy(b.Whole(Place::kInput), block) : void(b.Recv(rank, block));
  }
}

void StarScatter(ScheduleBuilder& b) {
  const uint64_t count = b.operation.count;
  if (b.rank != b.operation.peer) {
    b.Recv(b.operation.peer, b.Whole(Place::kOutput));
    return;
  }
  for (int rank = 0; rank < b.size; ++rank) {
    const Slice block = b.Elements(Place::kInput, count * rank, count * (rank + 1));
    rank == b.rank ? b.Copy(block, b.Whole(Place::kOutput)) : void(b.Send(rank, block));
  }
}

}  // namespace hr::collective
