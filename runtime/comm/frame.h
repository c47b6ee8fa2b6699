// What StreamEndpoint writes on a stream: frames, each a header and `payload` bytes. Little-endian.
// Fields that a kind does not name are 0. The first frame in each direction is a greeting.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hr::comm {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

enum class FrameKind : uint32_t {
  kGreeting = 1,  // tag = kProtocolMagic, label = version; payload: identity
  kEager = 2,     // tag, label; payload: the whole message
  kOffer = 3,     // tag, label, bytes of the message, sender: the id to invite; payload: none, or
                  // the message's address, 8 bytes, for a peer that reads this process's memory
  kInvite = 4,    // sender, receiver: send the message as data for `receiver`
  kData = 5,      // receiver; payload: the next piece of its message
  kRefuse = 6,    // sender: nobody will take the message; payload: why
  kWithdraw = 7,  // sender: the offer, or the message being sent, is void
  kCredit = 8,    // bytes: of eager messages and headers that were taken from their queue
  kGoodbye = 9,   // payload: why; nothing follows
  kProbe = 10,    // sender: the process, tag: an address, label: what lies there
  kReads = 11,    // the probed memory can be read
  kReading = 12,  // sender: what was offered is being read
  kRead = 13,     // sender, receiver: it has been; answered by kSettle or kWithdraw
  kSettle = 14,   // receiver: what it read is the message
};

struct FrameHeader {
  FrameKind kind;
  uint32_t payload;
  uint64_t tag;
  uint64_t label;
  uint64_t bytes;
  uint32_t sender;
  uint32_t receiver;
};
static_assert(sizeof(FrameHeader) == 40);

// How much of the header travels. All kinds have the first kHeadBytes, and an eager message has no
// more, because a short message that fits into fewer cache lines is there sooner.
inline constexpr size_t kHeadBytes = offsetof(FrameHeader, bytes);
static_assert(kHeadBytes == 24);
constexpr size_t HeaderBytes(FrameKind kind) {
  return kind == FrameKind::kEager ? kHeadBytes : sizeof(FrameHeader);
}

inline constexpr uint64_t kProtocolMagic = 0x65636172'64616548;  // "Headrace"
inline constexpr uint64_t kProtocolVersion = 3;
// Identities and reasons; also the most that a stranger can make us keep.
inline constexpr uint32_t kMaxText = 4096;
// Offers that may lie unanswered at one endpoint.
inline constexpr size_t kMaxOffers = 1 << 16;

}  // namespace hr::comm
