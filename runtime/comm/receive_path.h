// Which of two ways of receiving something long takes less time, learnt from what is received: two
// copies that overlap, by the sender and by the receiver, or one that the kernel makes from memory
// to memory. It depends on caches and on the kernel, by a factor of two in either direction.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hr::comm {

enum class Way { kStreamed = 0, kLent = 1 };

class Ways {
 public:
  // For the next message of about so many bytes.
  Way Choose(size_t bytes) {
    Class& c = ClassOf(bytes);
    const uint32_t turn = c.turns++;
    if (turn < kFirstTurns) return static_cast<Way>(turn % 2);
    const bool lent = Best(c, Way::kLent) <= Best(c, Way::kStreamed);
    return static_cast<Way>(turn % kTurnsPerLook == 0 ? !lent : lent);
  }
  // What a message took. The best of a time counts: a peer that lost its core says nothing.
  void Note(size_t bytes, Way way, int64_t nanos) {
    const double cost = static_cast<double>(nanos) / static_cast<double>(bytes);
    double& best = Best(ClassOf(bytes), way);
    best = best == 0 ? cost : std::min(cost, best * kForgetting);
  }

 private:
  static constexpr uint32_t kFirstTurns = 8;
  static constexpr uint32_t kTurnsPerLook = 127;  // at the other way
  static constexpr double kForgetting = 1.02;
  struct Class {              // of sizes between two powers of two
    double best[2] = {0, 0};  // nanoseconds a byte; 0: not known
    uint32_t turns = 0;
  };
  static double& Best(Class& c, Way way) { return c.best[static_cast<size_t>(way)]; }
  Class& ClassOf(size_t bytes) { return classes_[std::bit_width(bytes) % classes_.size()]; }

  std::array<Class, 48> classes_;
};

}  // namespace hr::comm
