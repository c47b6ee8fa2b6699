// TLS 1.3 over a ByteStream. Both sides prove that they have the cluster secret, a pre-shared key
// is made from it, and there are no certificates (RFC 8446, external PSK with ephemeral keys, so
// that a secret that leaks later opens nothing recorded before). AES-128-GCM.
#pragma once

#include <memory>
#include <string_view>

#include "transport/tcp/tls_records.h"

namespace hr::tcp {

// Shorter secrets could be found out from a recorded handshake.
inline constexpr size_t kMinSecret = 16;

class TlsContext {
 public:
  // Keeps only the key made from `secret`. Each connection changes its keys after so many records:
  // by default well below what AES-GCM allows (RFC 8446, 5.5: 2^24.5 full ones).
  static Result<std::unique_ptr<TlsContext>> Create(std::string_view secret,
                                                    uint64_t records_of_a_key = 1 << 22);
  virtual ~TlsContext() = default;

  // Encrypts what passes over `inner`. A peer that cannot prove the secret fails the stream with
  // UNAUTHENTICATED. The context outlives the stream.
  virtual Result<std::unique_ptr<comm::ByteStream>> Wrap(std::unique_ptr<comm::ByteStream> inner,
                                                         bool dialled) = 0;
};

// What a peer that speaks TLS begins with; plain frames never do.
bool LooksLikeTls(const std::byte* bytes, size_t count);

}  // namespace hr::tcp
