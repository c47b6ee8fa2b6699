// The random numbers of one node in one run: the key comes from the session's seed and step, the
// counter from the node's stream and the element, so an element's bits are the same in whatever
// order, on whatever device and in whatever part of a cut graph it is drawn.
#pragma once

#include "runtime/ops/functors/philox.h"

namespace hr::functors {

class RandomStream {
 public:
  HR_FUNCTOR RandomStream(uint64_t seed, int64_t step, int64_t stream)
      : stream_(static_cast<uint64_t>(stream)) {
    // Seed and step are mixed by the generator itself, with a counter that no element uses.
    auto step_bits = static_cast<uint64_t>(step);
    PhiloxWords<uint32_t> mixed = Philox<uint32_t>(
        {{Low(step_bits), High(step_bits), 0x6865'6164u, 0x7261'6365u}}, Low(seed), High(seed));
    key_[0] = mixed.word[0];
    key_[1] = mixed.word[1];
  }

  // Words 4 * block … 4 * block + 3 of the stream; element i has word i where it needs one word,
  // and words 2 * i and 2 * i + 1 where it needs two.
  HR_FUNCTOR PhiloxWords<uint32_t> Block(uint64_t block) const {
    return Philox(Counter(block), key_[0], key_[1]);
  }

  // What Block feeds to the generator, for those who feed it many blocks at a time.
  HR_FUNCTOR PhiloxWords<uint32_t> Counter(uint64_t block) const {
    return {{Low(block), High(block), Low(stream_), High(stream_)}};
  }
  HR_FUNCTOR uint32_t key(int i) const { return key_[i]; }

 private:
  static HR_FUNCTOR uint32_t Low(uint64_t v) { return static_cast<uint32_t>(v); }
  static HR_FUNCTOR uint32_t High(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
  uint64_t stream_;
  uint32_t key_[2];
};

}  // namespace hr::functors
