// Any bytes as the hello of a process that dials through UCX, and as the address of one in the
// store: they are refused, or say the same when they are written again.
#include <cstdlib>

#include "transport/ucx/peer.h"

namespace {

using namespace hr;

void Check(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto hello = ucx::DecodeHello(text)) {
    Check(!hello->peer.worker.empty());
    Check(hello->peer.host.size() + hello->peer.worker.size() < size);
    Check(ucx::EncodeHello(*hello) == text);
  }
  if (const auto peer = ucx::ParseAddress(text); peer.ok()) {
    const auto again = ucx::ParseAddress(ucx::AddressText(*peer));
    Check(again.ok() && again->host == peer->host && again->pid == peer->pid &&
          again->worker == peer->worker);
  } else {
    Check(peer.status().code() == Code::kInvalidArgument);
  }
  return 0;
}
