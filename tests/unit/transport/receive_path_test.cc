#include "runtime/comm/receive_path.h"

#include <gtest/gtest.h>

namespace hr::comm {
namespace {

constexpr size_t kBytes = 1 << 20;

struct Costs {
  int64_t stream_nanos, memory_nanos;
  int64_t Of(ReceivePath path) const {
    return path == ReceivePath::kPeerMemory ? memory_nanos : stream_nanos;
  }
};

// Receives `count` messages of kBytes and returns how many of them were read from the peer's
// memory.
int CountFromMemory(ReceivePathChooser& chooser, int count, const Costs& costs) {
  int from_memory = 0;
  for (int i = 0; i < count; ++i) {
    const ReceivePath path = chooser.Choose(kBytes);
    from_memory += path == ReceivePath::kPeerMemory;
    chooser.Note(kBytes, path, costs.Of(path));
  }
  return from_memory;
}

TEST(ReceivePathChooser, TriesBothAndKeepsTheFaster) {
  ReceivePathChooser slower_memory;
  EXPECT_EQ(CountFromMemory(slower_memory, 8, {100, 200}), 4);
  EXPECT_LE(CountFromMemory(slower_memory, 1000, {100, 200}), 10);
  ReceivePathChooser faster_memory;
  EXPECT_GE(CountFromMemory(faster_memory, 1000, {200, 100}), 980);
}

TEST(ReceivePathChooser, NoticesAChange) {
  ReceivePathChooser chooser;
  CountFromMemory(chooser, 500, {100'000, 200'000});
  CountFromMemory(chooser, 1000, {100'000, 50'000});
  EXPECT_GE(CountFromMemory(chooser, 1000, {100'000, 50'000}), 980);
}

TEST(ReceivePathChooser, IgnoresOneSlowMessage) {
  ReceivePathChooser chooser;
  CountFromMemory(chooser, 500, {100'000, 200'000});
  chooser.Note(kBytes, ReceivePath::kStream, 10'000'000);
  EXPECT_LE(CountFromMemory(chooser, 100, {100'000, 200'000}), 2);
}

TEST(ReceivePathChooser, LearnsEachSizeByItself) {
  ReceivePathChooser chooser;
  CountFromMemory(chooser, 500, {100'000, 200'000});
  for (int i = 0; i < 20; ++i) {
    const ReceivePath path = chooser.Choose(16 * kBytes);
    chooser.Note(16 * kBytes, path, path == ReceivePath::kPeerMemory ? 100 : 200);
  }
  EXPECT_EQ(chooser.Choose(16 * kBytes), ReceivePath::kPeerMemory);
  EXPECT_LE(CountFromMemory(chooser, 100, {100'000, 200'000}), 2);
}

}  // namespace
}  // namespace hr::comm
