#include "transport/tcp/tls_records.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <cstring>
#include <string>

#include "runtime/base/errors.h"

namespace hr::tcp {
namespace {

constexpr size_t kRecordKeyBytes = 16;

unsigned char* Raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* Raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// HKDF-Expand-Label of TLS 1.3 without a context.
bool ExpandLabel(const TlsSecret& secret, std::string_view label, unsigned char* out,
                 size_t bytes) {
  const std::string name = Cat("tls13 ", label);
  std::string info = {'\0', static_cast<char>(bytes), static_cast<char>(name.size())};
  info += name;
  info.push_back('\0');
  return Hkdf(true, {reinterpret_cast<const char*>(secret.data()), secret.size()}, info, out,
              bytes);
}

Status Broken() { return DataLoss("the peer sent a damaged TLS record"); }

Status OpenSslFailed() { return Internal("OpenSSL could not encrypt"); }

}  // namespace

bool Hkdf(bool expand_only, std::string_view key, std::string_view info, unsigned char* out,
          size_t bytes) {
  const OpenSsl<EVP_KDF, EVP_KDF_free> hkdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const OpenSsl<EVP_KDF_CTX, EVP_KDF_CTX_free> context(EVP_KDF_CTX_new(hkdf.get()));
  char digest[] = "SHA256";
  int mode = expand_only ? EVP_KDF_HKDF_MODE_EXPAND_ONLY : EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<char*>(key.data()),
                                        key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()),
                                        info.size()),
      OSSL_PARAM_construct_end()};
  return context != nullptr && EVP_KDF_derive(context.get(), out, bytes, parameters) == 1;
}

Result<TlsRecords> TlsRecords::Create(Direction direction, const TlsSecret& secret) {
  TlsRecords records;
  records.direction_ = direction;
  records.secret_ = secret;
  records.cipher_.reset(EVP_CIPHER_CTX_new());
  if (records.cipher_ == nullptr) return ResourceExhausted("no memory for another TLS connection");
  HR_RETURN_IF_ERROR(records.UseSecret());
  return records;
}

TlsRecords::~TlsRecords() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

Status TlsRecords::UseSecret() {
  unsigned char key[kRecordKeyBytes];
  const bool done = ExpandLabel(secret_, "key", key, sizeof key) &&
                    ExpandLabel(secret_, "iv", iv_.data(), iv_.size()) &&
                    EVP_CipherInit_ex(cipher_.get(), EVP_aes_128_gcm(), nullptr, key, nullptr,
                                      direction_ == kSeal ? 1 : 0) == 1;
  OPENSSL_cleanse(key, sizeof key);
  count_ = 0;
  return done ? Status() : OpenSslFailed();
}

Status TlsRecords::Renew() {
  TlsSecret next;
  if (!ExpandLabel(secret_, "traffic upd", next.data(), next.size())) return OpenSslFailed();
  secret_ = next;
  OPENSSL_cleanse(next.data(), next.size());
  return UseSecret();
}

// Nonce and header of the next record.
Status TlsRecords::Begin(const std::byte* header) {
  std::array<unsigned char, 12> nonce = iv_;
  for (int i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(count_ >> (8 * i));
  ++count_;
  int unused = 0;
  const bool begun =
      EVP_CipherInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce.data(), -1) == 1 &&
      EVP_CipherUpdate(cipher_.get(), nullptr, &unused, Raw(header), kTlsHeaderBytes) == 1;
  return begun ? Status() : OpenSslFailed();
}

Result<size_t> TlsRecords::Seal(TlsContent content, std::span<const Bytes> pieces, std::byte* out) {
  size_t bytes = 0;
  for (Bytes piece : pieces) bytes += piece.size();
  const size_t length = bytes + 1 + kTlsTagBytes;
  const unsigned char header[kTlsHeaderBytes] = {static_cast<unsigned char>(TlsContent::kData), 3,
                                                 3, static_cast<unsigned char>(length >> 8),
                                                 static_cast<unsigned char>(length)};
  std::memcpy(out, header, sizeof header);
  HR_RETURN_IF_ERROR(Begin(out));
  unsigned char* to = Raw(out) + kTlsHeaderBytes;
  const auto kind = static_cast<unsigned char>(content);
  int done = 0;
  bool sealed = true;
  for (Bytes piece : pieces) {
    sealed = sealed && EVP_EncryptUpdate(cipher_.get(), to, &done, Raw(piece.data()),
                                         static_cast<int>(piece.size())) == 1;
    to += piece.size();
  }
  sealed = sealed && EVP_EncryptUpdate(cipher_.get(), to, &done, &kind, 1) == 1 &&
           EVP_EncryptFinal_ex(cipher_.get(), to + 1, &done) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, kTlsTagBytes, to + 1) == 1;
  if (!sealed) return OpenSslFailed();
  return kTlsHeaderBytes + length;
}

Result<size_t> TlsRecords::ContentBytes(const std::byte* header) {
  const auto* h = Raw(header);
  const size_t length = size_t{h[3]} << 8 | h[4];
  if (h[0] != static_cast<unsigned char>(TlsContent::kData) || h[1] != 3 || h[2] != 3 ||
      length < 1 + kTlsTagBytes || length > kTlsRecordBytes + 1 + kTlsTagBytes) {
    return Broken();
  }
  return length - 1 - kTlsTagBytes;
}

Result<TlsContent> TlsRecords::Open(const std::byte* record, size_t bytes, std::byte* out) {
  HR_RETURN_IF_ERROR(Begin(record));
  const unsigned char* from = Raw(record) + kTlsHeaderBytes;
  unsigned char kind = 0;
  int done = 0;
  const bool opened =
      EVP_DecryptUpdate(cipher_.get(), Raw(out), &done, from, static_cast<int>(bytes)) == 1 &&
      EVP_DecryptUpdate(cipher_.get(), &kind, &done, from + bytes, 1) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, kTlsTagBytes,
                          const_cast<unsigned char*>(from + bytes + 1)) == 1 &&
      EVP_DecryptFinal_ex(cipher_.get(), &kind + 1, &done) == 1;
  if (opened) return static_cast<TlsContent>(kind);
  if (bytes > 0) std::memset(out, 0, bytes);  // these bytes are not authenticated
  return Broken();
}

}  // namespace hr::tcp
