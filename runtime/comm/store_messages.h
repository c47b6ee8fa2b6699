// What a remote store's clients and its server send each other: a request under tag kRequestTag,
// and for each exactly one reply, under the request's number. Headers stand as they are in memory,
// little-endian; the texts follow them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/comm/store.h"
#include "runtime/comm/store_values.h"

namespace hr::comm {

inline constexpr uint64_t kRequestTag = 0;

enum class StoreOp : uint32_t {
  kSet = 1,
  kTryGet = 2,
  kGet = 3,  // answered when the key exists
  kAdd = 4,
  kCompareAndSwap = 5,
  kDelete = 6,
  kForget = 7,  // the Get whose number is `delta` is to be answered now
};

struct StoreRequest {
  StoreOp op = StoreOp::kSet;
  uint32_t key_bytes = 0;
  uint64_t number = 0;    // counted by the client from 1
  uint64_t client = 0;    // random
  uint64_t again = 0;     // 1: it may have been carried out before, and the reply was lost
  int64_t delta = 0;      // of kAdd
  uint64_t expected = 0;  // 1: there is an expected value
  uint64_t expected_bytes = 0;
  uint64_t value_bytes = 0;  // of the value that is set or desired
};

struct StoreReply {
  uint32_t code = 0;    // a Code; its message follows
  uint32_t exists = 0;  // 1: a value follows
  int64_t sum = 0;      // of kAdd
};

// A request as it came, its texts checked against what came.
struct StoreCall {
  StoreRequest head;
  std::string_view key, expected, value;

  static std::string Encode(StoreRequest head, std::string_view key, std::string_view expected,
                            std::string_view value) {
    head.key_bytes = static_cast<uint32_t>(key.size());
    head.expected_bytes = expected.size();
    head.value_bytes = value.size();
    std::string text(reinterpret_cast<const char*>(&head), sizeof head);
    return text.append(key).append(expected).append(value);
  }
  static Result<StoreCall> Decode(std::string_view text) {
    StoreCall call;
    if (text.size() < sizeof call.head) return DataLoss("a store's client sent half a request");
    std::memcpy(&call.head, text.data(), sizeof call.head);
    text.remove_prefix(sizeof call.head);
    if (call.head.key_bytes > text.size() || call.head.expected_bytes > text.size() ||
        call.head.value_bytes > text.size() ||
        call.head.key_bytes + call.head.expected_bytes + call.head.value_bytes != text.size()) {
      return DataLoss("a store's client sent a request whose lengths do not agree");
    }
    call.key = text.substr(0, call.head.key_bytes);
    call.expected = text.substr(call.head.key_bytes, call.head.expected_bytes);
    call.value = text.substr(call.head.key_bytes + call.head.expected_bytes);
    return call;
  }
  static constexpr size_t kMaxBytes = sizeof(StoreRequest) + kMaxStoreKey + 2 * kMaxStoreValue;
};

inline constexpr size_t kMaxReplyBytes = sizeof(StoreReply) + kMaxStoreValue;

}  // namespace hr::comm
