#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include <array>

#include "runtime/base/errors.h"
#include "transport/tcp/tls.h"
#include "transport/tcp/tls_stream.h"

namespace hr::tcp {
namespace {

constexpr std::string_view kIdentity = "headrace cluster";
constexpr std::string_view kKeyPurpose = "headrace tls 1.3 psk v1";
constexpr size_t kSharedKeyBytes = 32;
using Key = std::array<unsigned char, kSharedKeyBytes>;

// A new session that holds the key; null if memory ran out.
SSL_SESSION* SessionWith(const Key& key, SSL* ssl) {
  constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256);
  if (session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, key.data(), key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
    return session;
  }
  SSL_SESSION_free(session);
  return nullptr;
}

const Key& KeyOf(SSL* ssl) {
  return *static_cast<const Key*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

int OfferKey(SSL* ssl, const EVP_MD*, const unsigned char** identity, size_t* identity_bytes,
             SSL_SESSION** session) {
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *identity_bytes = kIdentity.size();
  *session = SessionWith(KeyOf(ssl), ssl);
  return *session != nullptr ? 1 : 0;
}

int FindKey(SSL* ssl, const unsigned char* identity, size_t identity_bytes, SSL_SESSION** session) {
  const std::string_view wanted(reinterpret_cast<const char*>(identity), identity_bytes);
  *session = wanted == kIdentity ? SessionWith(KeyOf(ssl), ssl) : nullptr;
  return wanted != kIdentity || *session != nullptr ? 1 : 0;
}

class Context final : public TlsContext {
 public:
  explicit Context(uint64_t records_of_a_key) : records_of_a_key_(records_of_a_key) {}
  ~Context() override { OPENSSL_cleanse(key_.data(), key_.size()); }

  Status Prepare(std::string_view secret) {
    method_.reset(TlsHandshake::NewBioMethod());
    ssl_.reset(SSL_CTX_new(TLS_method()));
    if (method_ == nullptr || ssl_ == nullptr ||
        !Hkdf(false, secret, kKeyPurpose, key_.data(), key_.size()) ||
        SSL_CTX_set_min_proto_version(ssl_.get(), TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(ssl_.get(), TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ssl_.get(), "TLS_AES_128_GCM_SHA256") != 1) {
      return Internal("OpenSSL offers no TLS 1.3 with AES-128-GCM and SHA-256");
    }
    SSL_CTX_set_app_data(ssl_.get(), &key_);
    SSL_CTX_set_psk_use_session_callback(ssl_.get(), OfferKey);
    SSL_CTX_set_psk_find_session_callback(ssl_.get(), FindKey);
    SSL_CTX_set_num_tickets(ssl_.get(), 0);
    SSL_CTX_set_session_cache_mode(ssl_.get(), SSL_SESS_CACHE_OFF);
    // Nothing may be read that belongs to the records after the handshake.
    SSL_CTX_set_read_ahead(ssl_.get(), 0);
    SSL_CTX_set_keylog_callback(ssl_.get(), TlsHandshake::OnKeyLog);
    return {};
  }

  Result<std::unique_ptr<comm::ByteStream>> Wrap(std::unique_ptr<comm::ByteStream> inner,
                                                 bool dialled) override {
    auto handshake = std::make_unique<TlsHandshake>(*inner, dialled);
    HR_RETURN_IF_ERROR(handshake->Open(ssl_.get(), method_.get()));
    return std::make_unique<TlsStream>(std::move(inner), std::move(handshake), records_of_a_key_);
  }

 private:
  const uint64_t records_of_a_key_;
  Key key_{};
  OpenSsl<BIO_METHOD, BIO_meth_free> method_;
  OpenSsl<SSL_CTX, SSL_CTX_free> ssl_;
};

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::Create(std::string_view secret,
                                                       uint64_t records_of_a_key) {
  if (secret.size() < kMinSecret) {
    return InvalidArgument("expected a cluster secret of at least ", kMinSecret,
                           " bytes that nobody can guess, got ", secret.size(),
                           "; make one with: openssl rand -hex 32");
  }
  auto context = std::make_unique<Context>(records_of_a_key);
  HR_RETURN_IF_ERROR(context->Prepare(secret));
  return std::unique_ptr<TlsContext>(std::move(context));
}

}  // namespace hr::tcp
