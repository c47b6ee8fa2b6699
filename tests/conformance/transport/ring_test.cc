// Rings in common memory, between two threads.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "runtime/comm/byte_ring.h"

namespace hr::comm {
namespace {

constexpr size_t kCapacity = 256;

class Ring : public ::testing::Test {
 protected:
  Ring() : memory_(RingMemory::Bytes(kCapacity) / sizeof(Line)) {
    ring_ = new (memory_.data()) RingMemory{};
  }
  // Bytes that tell where they stand.
  static std::vector<std::byte> Numbered(uint64_t begin, size_t count) {
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = std::byte((begin + i) * 131 >> 3);
    return bytes;
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_;
  RingMemory* ring_;
};

TEST_F(Ring, GivesShortPiecesInOrderWhetherTheReaderKeepsUpOrNot) {
  RingWriter writer(*ring_, kCapacity);
  RingReader reader(*ring_, kCapacity);
  uint64_t written = 0, read = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i <= round % 3; ++i) {  // one, two or three before a reading
      const auto piece = Numbered(written, 1 + (round * 7 + i * 5) % 50);
      ASSERT_EQ(writer.Append(piece), piece.size());
      written += piece.size();
      writer.Publish();
    }
    while (read < written) {
      std::byte got[64];
      const size_t count = reader.Read(got, 1 + round % 64);
      ASSERT_GT(count, 0U);
      ASSERT_EQ(std::vector(got, got + count), Numbered(read, count));
      read += count;
    }
    reader.Release();
  }
}

TEST_F(Ring, KeepsTheBytesBetweenTwoThreads) {
  constexpr uint64_t kBytes = 1 << 20;
  std::thread other([this] {
    RingWriter writer(*ring_, kCapacity);
    for (uint64_t written = 0; written < kBytes;) {
      const size_t wanted = std::min<uint64_t>(1 + written % 90, kBytes - written);
      written += writer.Append(Numbered(written, wanted));
      writer.Publish();
    }
  });
  RingReader reader(*ring_, kCapacity);
  bool same = true;
  for (uint64_t read = 0; read < kBytes;) {
    std::byte got[100];
    const size_t count = reader.Read(got, sizeof got);
    if (count == 0) std::this_thread::yield();
    same &= std::vector(got, got + count) == Numbered(read, count);
    read += count;
    reader.Release();
  }
  other.join();
  EXPECT_TRUE(same);
}

}  // namespace
}  // namespace hr::comm
