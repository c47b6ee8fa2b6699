// The record protection of TLS 1.3 (RFC 8446, 5.2) with AES-128-GCM. OpenSSL's own copies every
// byte twice on its way out and once on its way in; this one encrypts from the caller's memory into
// the batch that goes to the socket, and decrypts into the destination.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/comm/byte_stream.h"

namespace hr::tcp {

inline constexpr size_t kTlsHeaderBytes = 5;
inline constexpr size_t kTlsTagBytes = 16;
// What a record is longer than its contents: header, content type, tag.
inline constexpr size_t kTlsOverhead = kTlsHeaderBytes + 1 + kTlsTagBytes;
inline constexpr size_t kTlsRecordBytes = 16 << 10;  // the most that one may hold

enum class TlsContent : uint8_t { kAlert = 21, kHandshake = 22, kData = 23 };

// A traffic secret of the handshake.
using TlsSecret = std::array<unsigned char, 32>;

template <typename T, void (*kFree)(T*)>
struct OpenSslFree {
  void operator()(T* object) const { kFree(object); }
};
template <typename T, void (*kFree)(T*)>
using OpenSsl = std::unique_ptr<T, OpenSslFree<T, kFree>>;

// HKDF (RFC 5869) with SHA-256; `expand_only` if `key` is pseudorandom already.
bool Hkdf(bool expand_only, std::string_view key, std::string_view info, unsigned char* out,
          size_t bytes);

// One direction of a connection.
class TlsRecords {
 public:
  enum Direction { kSeal, kOpen };
  static Result<TlsRecords> Create(Direction direction, const TlsSecret& secret);
  TlsRecords(TlsRecords&&) = default;
  ~TlsRecords();

  // Writes the record of the pieces, kTlsRecordBytes at most, and returns its size, which is theirs
  // and kTlsOverhead. False sizes never happen: INTERNAL if OpenSSL fails.
  Result<size_t> Seal(TlsContent content, std::span<const Bytes> pieces, std::byte* out);
  // How long the contents of the record are that begins with this header. DATA_LOSS.
  static Result<size_t> ContentBytes(const std::byte* header);
  // Writes the contents of a record, `bytes` of them, and returns their kind. DATA_LOSS if it is
  // not the next one that the peer sealed; then `out` holds nothing.
  Result<TlsContent> Open(const std::byte* record, size_t bytes, std::byte* out);
  // The next key (RFC 8446, 7.2).
  Status Renew();
  // Under this key.
  uint64_t count() const { return count_; }

 private:
  TlsRecords() = default;
  Status UseSecret();
  Status Begin(const std::byte* header);

  Direction direction_ = kSeal;
  TlsSecret secret_{};
  std::array<unsigned char, 12> iv_{};
  uint64_t count_ = 0;
  OpenSsl<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> cipher_;
};

}  // namespace hr::tcp
