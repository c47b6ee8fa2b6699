// Any bytes as what a peer sends over a stream: the endpoint fails with a sentence or goes on, ends
// every transfer once, and keeps no more than its credit. The first byte says how the bytes are
// cut.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/comm/stream_endpoint.h"

namespace {

using namespace hr;
using namespace hr::comm;

constexpr StreamTraits kTraits = {
    .eager_bytes = 256, .credit_bytes = 4096, .frame_bytes = 512, .read_ahead = 128, .lends = true};

void Check(bool condition) {
  if (!condition) std::abort();
}

class FuzzStream final : public ByteStream {
 public:
  FuzzStream(Bytes bytes, size_t step) : rest_(bytes), step_(step) {}
  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (Bytes piece : pieces) total += piece.size();
    return std::min(total, step_);
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    const size_t count = std::min({bytes, step_, rest_.size()});
    if (count == 0) return Unavailable("the input has ended");
    std::memcpy(to, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return count;
  }
  bool Arm(bool, bool) override { return true; }

 private:
  Bytes rest_;
  const size_t step_;
};

struct Tried {
  std::vector<std::byte> data;
  Transfer transfer;
  int ended = 0;

  Tried(size_t bytes, uint64_t tag) : data(bytes) {
    transfer.data = data.data();
    transfer.bytes = bytes;
    transfer.tag = tag;
    transfer.owner = this;
    transfer.done = [](Transfer& t) {
      ++static_cast<Tried*>(t.owner)->ended;
      Check(t.status.ok() || !t.status.message().empty());
    };
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  StreamEndpoint endpoint(std::make_unique<FuzzStream>(bytes, 1 + data[0]), kTraits, "fuzz");
  Tried receives[] = {{100, 1}, {1000, 1}, {10, 2}, {0, 3}}, sends[] = {{10, 1}, {5000, 2}};
  Tried cancelled(50, 2);
  for (Tried& one : receives) endpoint.Recv(one.transfer);
  for (Tried& one : sends) endpoint.Send(one.transfer);
  endpoint.Recv(cancelled.transfer);
  for (int turn = 0; turn < 100'000 && endpoint.status().ok(); ++turn) {
    endpoint.Progress();
    if (turn == 3 && cancelled.ended == 0) endpoint.Cancel(cancelled.transfer);
  }
  Check(!endpoint.status().ok() && !endpoint.status().message().empty());
  for (const Tried& one : receives) Check(one.ended == 1);
  for (const Tried& one : sends) Check(one.ended == 1);
  Check(cancelled.ended == 1);
  return 0;
}
