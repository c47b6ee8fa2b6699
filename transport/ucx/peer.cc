#include "transport/ucx/peer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/strings.h"

namespace hr::ucx {
namespace {

constexpr std::string_view kScheme = "ucx:";

std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Empty if `text` is not hexadecimal.
std::string FromHex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const char* end = text.data() + std::min(i + 2, text.size());
    if (std::from_chars(text.data() + i, end, byte, 16).ptr != text.data() + i + 2) return "";
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// A hello begins with it; the host's text and the worker's address follow.
struct HelloHead {
  char magic[7];
  char version;  // counted from '0'
  uint32_t pid;
  uint32_t line;
  uint64_t host_bytes;
};
static_assert(sizeof(HelloHead) == 24);
constexpr std::string_view kMagic = "rhchell";

}  // namespace

std::string AddressText(const UcxPeer& peer) {
  return Cat(kScheme, peer.host, ":", peer.pid, ":", ToHex(peer.worker));
}

Result<UcxPeer> ParseAddress(std::string_view address) {
  UcxPeer peer;
  if (address.starts_with(kScheme)) {
    const std::string_view text = address.substr(kScheme.size());
    const size_t host = std::min(text.find(':'), text.size());
    const size_t pid = std::min(text.find(':', host + 1), text.size());
    peer.host = text.substr(0, host);
    std::from_chars(text.data() + std::min(host + 1, pid), text.data() + pid, peer.pid);
    peer.worker = FromHex(text.substr(std::min(pid + 1, text.size())));
  }
  if (peer.pid != 0 && !peer.worker.empty()) return peer;
  return InvalidArgument("expected an address of UCX, 'ucx:HOST:PID:WORKER', got '", address, "'");
}

std::string EncodeHello(const UcxHello& hello) {
  HelloHead head = {.version = static_cast<char>('0' + hello.version),
                    .pid = hello.peer.pid,
                    .line = hello.line,
                    .host_bytes = hello.peer.host.size()};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  return Cat(std::string_view(reinterpret_cast<const char*>(&head), sizeof head), hello.peer.host,
             hello.peer.worker);
}

std::optional<UcxHello> DecodeHello(std::string_view text) {
  HelloHead head;
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data(), sizeof head);
  text.remove_prefix(sizeof head);
  if (std::string_view(head.magic, sizeof head.magic) != kMagic || head.version < '0' ||
      head.host_bytes >= text.size()) {
    return std::nullopt;
  }
  return UcxHello{.peer = {.host = std::string(text.substr(0, head.host_bytes)),
                           .pid = head.pid,
                           .worker = std::string(text.substr(head.host_bytes))},
                  .line = head.line,
                  .version = static_cast<uint32_t>(head.version - '0')};
}

}  // namespace hr::ucx
