// Any bytes as what a stranger sends to TLS, on either side of the handshake and after it: it fails
// with a sentence, never lets in who lacks the key, and hands nothing out that was not authentic.
// The first byte says which of them, and how the bytes are cut.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "transport/tcp/tls.h"

namespace {

using namespace hr;
using namespace hr::comm;

void Check(bool condition) {
  if (!condition) std::abort();
}

struct Pipe {
  std::string bytes;
};

class PipeStream final : public ByteStream {
 public:
  PipeStream(Pipe& in, Pipe& out, size_t step) : in_(in), out_(out), step_(step) {}
  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (Bytes piece : pieces) {
      out_.bytes += AsText(piece);
      total += piece.size();
    }
    return total;
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    const size_t count = std::min({bytes, step_, in_.bytes.size()});
    if (count > 0) std::memcpy(to, in_.bytes.data(), count);
    in_.bytes.erase(0, count);
    return count;
  }
  bool Arm(bool, bool) override { return true; }

 private:
  Pipe& in_;
  Pipe& out_;
  const size_t step_;
};

// Reads until nothing moves: OK, or how it failed. Nothing may come out.
Status Drain(ByteStream& stream, const Pipe& in) {
  std::byte bytes[64];
  for (size_t before = SIZE_MAX; before != in.bytes.size();) {
    before = in.bytes.size();
    Result<size_t> got = stream.Read(bytes, sizeof bytes);
    if (!got.ok()) return std::move(got).status();
    Check(*got == 0);
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static tcp::TlsContext& context =
      *tcp::TlsContext::Create("a secret of the fuzzer").value().release();
  const bool dialled = (data[0] & 1) != 0, after = (data[0] & 2) != 0;
  Pipe in, out;
  auto stream =
      std::move(
          context.Wrap(std::make_unique<PipeStream>(in, out, 1 + (data[0] >> 2) * 16), dialled))
          .value();
  if (after) {
    auto peer =
        std::move(context.Wrap(std::make_unique<PipeStream>(out, in, SIZE_MAX), !dialled)).value();
    for (int i = 0; i < 2000; ++i) {
      std::byte none;
      Check(stream->Read(&none, 0).ok() && peer->Read(&none, 0).ok());
    }
    in.bytes.clear();
  }
  in.bytes.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Status status = Drain(*stream, in);
  if (!status.ok()) Check(!status.message().empty());
  const Bytes word = AsBytes("x");
  Result<size_t> written = stream->Write({&word, 1});
  Check(!written.ok() || after || *written == 0);  // nothing is said to a stranger
  return 0;
}
