// Chooses how a long message is received: as a stream, which takes two copies that overlap (one by
// the sender, one by the receiver), or straight from the sender's memory, which takes one copy by
// the kernel. Which of the two is faster depends on caches and on the kernel, by a factor of two in
// either direction, so it is learnt from the messages that come.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hr::comm {

enum class ReceivePath { kStream = 0, kPeerMemory = 1 };

class ReceivePathChooser {
 public:
  // Returns the path for the next message of about `bytes` bytes.
  ReceivePath Choose(size_t bytes) {
    Class& c = ClassOf(bytes);
    const uint32_t turn = c.turns++;
    if (turn < kFirstTurns) return static_cast<ReceivePath>(turn % 2);
    const ReceivePath faster = Faster(c);
    return turn % kTurnsPerLook == 0 ? Other(faster) : faster;
  }
  // Notes how long a message took. The best of several times counts: a message during which the
  // peer lost its core says nothing about the path.
  void Note(size_t bytes, ReceivePath path, int64_t nanos) {
    const double cost = static_cast<double>(nanos) / static_cast<double>(bytes);
    double& best = Best(ClassOf(bytes), path);
    best = best == 0 ? cost : std::min(cost, best * kForgetting);
  }

 private:
  static constexpr uint32_t kFirstTurns = 8;      // alternate between the two paths
  static constexpr uint32_t kTurnsPerLook = 127;  // until the slower path is tried again
  static constexpr double kForgetting = 1.02;
  struct Class {              // of sizes between two powers of two
    double best[2] = {0, 0};  // nanoseconds per byte; 0: not known yet
    uint32_t turns = 0;
  };
  static double& Best(Class& c, ReceivePath path) { return c.best[static_cast<size_t>(path)]; }
  static ReceivePath Faster(Class& c) {
    return Best(c, ReceivePath::kPeerMemory) <= Best(c, ReceivePath::kStream)
               ? ReceivePath::kPeerMemory
               : ReceivePath::kStream;
  }
  static ReceivePath Other(ReceivePath path) {
    return path == ReceivePath::kStream ? ReceivePath::kPeerMemory : ReceivePath::kStream;
  }
  Class& ClassOf(size_t bytes) { return classes_[std::bit_width(bytes) % classes_.size()]; }

  std::array<Class, 48> classes_;
};

}  // namespace hr::comm
