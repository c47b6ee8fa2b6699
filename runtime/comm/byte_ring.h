// A ring of bytes between one writer and one reader, in memory that both see: of one process, or
// shared by two. The other side is not trusted: whatever it writes into the positions, nothing
// outside the ring is touched.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "runtime/base/file.h"

namespace hr::comm {

// The part of a ring that lies in the common memory; `capacity` bytes of data follow it. All zero
// bytes is a valid empty ring. A cache line for each side, and one that is only written by
// sleepers.
//
// What was published last lies beside the tail, too, if it is short: a reader that keeps up gets
// it with the one cache line that it looks at. A reader that does not finds it in the ring.
struct RingMemory {
  static constexpr size_t kLatestWords = 6;
  alignas(64) std::atomic<uint64_t> tail;  // bytes ever written
  std::atomic<uint64_t> latest_at;         // 1 + where `latest` begins; 0: it is none
  std::atomic<uint64_t> latest[kLatestWords];
  alignas(64) std::atomic<uint64_t> head;  // bytes ever read
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> writer_sleeps;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  static constexpr size_t Bytes(size_t capacity) { return sizeof(RingMemory) + capacity; }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// True if the sleeper asked to be woken; the flag is taken down. The fence orders what was
// written to the ring before the look at the flag, as Sleep() does the other way round.
inline bool TakeSleeper(std::atomic<uint32_t>& flag) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return flag.load(std::memory_order_relaxed) != 0 &&
         flag.exchange(0, std::memory_order_relaxed) != 0;
}
inline void AskToBeWoken(std::atomic<uint32_t>& flag) {
  flag.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

class RingWriter {
 public:
  // `capacity` is a power of two.
  RingWriter(RingMemory& ring, size_t capacity)
      : ring_(ring), data_(ring.data()), capacity_(capacity) {}

  // Copies in what fits of `bytes`; invisible until Publish().
  size_t Append(Bytes bytes) {
    size_t room = Room();
    if (room < bytes.size()) {
      head_ = ring_.head.load(std::memory_order_acquire);
      room = Room();
    }
    const size_t count = std::min(room, bytes.size());
    if (count == 0) return 0;
    const size_t at = tail_ & (capacity_ - 1);
    const size_t first = std::min(count, capacity_ - at);
    std::memcpy(data_ + at, bytes.data(), first);
    if (count > first) std::memcpy(data_, bytes.data() + first, count - first);
    tail_ += count;
    return count;
  }
  // True if the reader sleeps and must be woken.
  bool Publish() {
    ShowLatest();
    ring_.tail.store(tail_, std::memory_order_release);
    published_ = tail_;
    return TakeSleeper(ring_.reader_sleeps);
  }
  // Asks to be woken when there is room. False if there is some.
  bool Arm() {
    AskToBeWoken(ring_.writer_sleeps);
    head_ = ring_.head.load(std::memory_order_acquire);
    return Room() == 0;
  }

 private:
  size_t Room() const { return capacity_ - std::min<uint64_t>(tail_ - head_, capacity_); }
  // Readers see by `latest_at` whether the words change under them.
  void ShowLatest() {
    uint64_t words[RingMemory::kLatestWords] = {};
    const size_t count = tail_ - published_, at = published_ & (capacity_ - 1);
    ring_.latest_at.store(0, std::memory_order_relaxed);
    if (count > sizeof words || at + count > capacity_) return;
    std::memcpy(words, data_ + at, count);
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < std::size(words); ++i) {
      ring_.latest[i].store(words[i], std::memory_order_relaxed);
    }
    ring_.latest_at.store(published_ + 1, std::memory_order_release);
  }

  RingMemory& ring_;
  std::byte* data_;
  const size_t capacity_;
  uint64_t tail_ = 0;
  uint64_t published_ = 0;
  uint64_t head_ = 0;  // as last seen
};

class RingReader {
 public:
  RingReader(RingMemory& ring, size_t capacity)
      : ring_(ring), data_(ring.data()), capacity_(capacity) {}

  size_t Read(std::byte* to, size_t bytes) {
    if (Held() < bytes) tail_ = ring_.tail.load(std::memory_order_acquire);
    const size_t count = std::min(Held(), bytes);
    if (count == 0) return 0;
    if (count == Held() && TakeLatest(to, count)) return count;
    const size_t at = head_ & (capacity_ - 1);
    const size_t first = std::min(count, capacity_ - at);
    std::memcpy(to, data_ + at, first);
    if (count > first) std::memcpy(to + first, data_, count - first);
    head_ += count;
    return count;
  }
  // Whether what was read and not given back is much enough for a writer to wait for.
  bool OwesMuch() const { return head_ - released_ >= capacity_ / 8; }
  bool Owes() const { return head_ != released_; }
  // Gives the room of what was read back. True if the writer sleeps and must be woken.
  bool Release() {
    ring_.head.store(head_, std::memory_order_release);
    released_ = head_;
    return TakeSleeper(ring_.writer_sleeps);
  }
  // Asks to be woken when bytes come. False if there are some.
  bool Arm() {
    AskToBeWoken(ring_.reader_sleeps);
    tail_ = ring_.tail.load(std::memory_order_acquire);
    return Held() == 0;
  }

 private:
  size_t Held() const { return std::min<uint64_t>(tail_ - head_, capacity_); }
  // Reads `count` bytes if they are all that was published last.
  bool TakeLatest(std::byte* to, size_t count) {
    uint64_t words[RingMemory::kLatestWords];
    if (count > sizeof words || ring_.latest_at.load(std::memory_order_acquire) != head_ + 1) {
      return false;
    }
    for (size_t i = 0; i < std::size(words); ++i) {
      words[i] = ring_.latest[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (ring_.latest_at.load(std::memory_order_relaxed) != head_ + 1) return false;
    std::memcpy(to, words, count);
    head_ += count;
    return true;
  }

  RingMemory& ring_;
  std::byte* data_;
  const size_t capacity_;
  uint64_t head_ = 0;
  uint64_t released_ = 0;
  uint64_t tail_ = 0;  // as last seen
};

}  // namespace hr::comm
