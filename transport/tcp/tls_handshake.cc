#include "transport/tcp/tls_handshake.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

#include <charconv>

#include "runtime/base/errors.h"
#include "transport/tcp/tls.h"

namespace hr::tcp {
namespace {

constexpr std::string_view kSameSecret = "; start all ranks with the same cluster secret";
// What TLS answers to something else: the alert "protocol version".
constexpr char kNotTlsAlert[] = {21, 3, 3, 0, 2, 2, 70};
constexpr int kFirstAlertReason = 1000;  // reasons above are alerts that the peer sent

bool ParseHex(std::string_view text, TlsSecret& secret) {
  if (text.size() != 2 * secret.size()) return false;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, secret[i], 16).ptr != begin + 2) return false;
  }
  return true;
}

}  // namespace

TlsHandshake::~TlsHandshake() {
  SSL_free(ssl_);
  OPENSSL_cleanse(secrets_, sizeof secrets_);
}

Status TlsHandshake::Open(SSL_CTX* context, const BIO_METHOD* method) {
  ssl_ = SSL_new(context);
  BIO* bio = ssl_ != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return ResourceExhausted("there is no memory for another TLS connection");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  dialled_ ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
  // A server that shows a certificate instead of proving the key is refused.
  if (dialled_) SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr);
  return {};
}

// The secrets from which both directions' keys are made: "CLIENT_TRAFFIC_SECRET_0 <random> <hex>".
void TlsHandshake::OnKeyLog(const SSL* ssl, const char* line) {
  auto& self = *static_cast<TlsHandshake*>(SSL_get_app_data(ssl));
  const std::string_view text = line;
  const std::string_view value = text.substr(text.rfind(' ') + 1);
  if (text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) ParseHex(value, self.secrets_[0]);
  if (text.starts_with("SERVER_TRAFFIC_SECRET_0 ")) ParseHex(value, self.secrets_[1]);
}

int TlsHandshake::Write(const char* bytes, int count) {
  out_.append(bytes, count);
  return count;
}

int TlsHandshake::Read(char* to, int room) {
  Result<size_t> got = inner_.Read(reinterpret_cast<std::byte*>(to), room);
  if (!got.ok()) {
    read_status_ = std::move(got).status();
    return -1;
  }
  if (*got > 0 && !std::exchange(begun_, true) &&
      !LooksLikeTls(reinterpret_cast<std::byte*>(to), *got)) {
    read_status_ = NotTls();
    return -1;
  }
  return static_cast<int>(*got);
}

Status TlsHandshake::NotTls() {
  if (dialled_) {
    return Unauthenticated("the peer answered in plain text: it has no cluster secret",
                           kSameSecret);
  }
  out_.append(kNotTlsAlert, sizeof kNotTlsAlert);
  return Unauthenticated(
      "expected TLS, got something else: a peer without the cluster secret, or another program",
      kSameSecret);
}

Status TlsHandshake::Flush() {
  while (!out_.empty()) {
    const Bytes rest = AsBytes(out_);
    HR_ASSIGN_OR_RETURN(const size_t written, inner_.Write({&rest, 1}));
    if (written == 0) break;
    out_.erase(0, written);
  }
  return {};
}

Status TlsHandshake::Progress() {
  if (!done_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    if (result != 1) {
      HR_RETURN_IF_ERROR(Fail(result));
    } else if (SSL_session_reused(ssl_) != 1) {
      return Unauthenticated("the peer did not prove that it has the cluster secret", kSameSecret);
    } else {
      done_ = true;
    }
  }
  return Flush();
}

// After a call that returned `result`: OK if it only wants more bytes.
Status TlsHandshake::Fail(int result) {
  if (read_status_.ok() && SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) return {};
  Status status = read_status_.ok() ? Explain() : std::move(read_status_);
  if (begun_ && status.code() == Code::kUnavailable) {
    status = std::move(status).WithContext("during the TLS handshake");
  }
  Flush().IgnoreError();  // an alert tells the peer
  return status;
}

// Why OpenSSL gave up.
Status TlsHandshake::Explain() const {
  const unsigned long error = ERR_peek_error();  // NOLINT: OpenSSL's type
  const int reason = ERR_GET_REASON(error);
  const char* text = ERR_reason_error_string(error);
  const std::string_view why = text != nullptr ? text : "OpenSSL does not say why";
  if (reason == SSL_R_BINDER_DOES_NOT_VERIFY) {
    return Unauthenticated("the peer has another cluster secret", kSameSecret);
  }
  if (reason > kFirstAlertReason) {
    return Unauthenticated("the peer refused the TLS handshake (", why, ")", kSameSecret);
  }
  return Unauthenticated("the peer did not prove that it has the cluster secret (", why, ")",
                         kSameSecret);
}

BIO_METHOD* TlsHandshake::NewBioMethod() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "headrace");
  if (method == nullptr) return method;
  BIO_meth_set_write(method, [](BIO* bio, const char* bytes, int count) {
    return static_cast<TlsHandshake*>(BIO_get_data(bio))->Write(bytes, count);
  });
  BIO_meth_set_read(method, [](BIO* bio, char* to, int room) {
    BIO_clear_retry_flags(bio);
    const int got = static_cast<TlsHandshake*>(BIO_get_data(bio))->Read(to, room);
    if (got == 0) BIO_set_retry_read(bio);
    return got == 0 ? -1 : got;
  });
  BIO_meth_set_ctrl(method, [](BIO*, int command, long, void*) -> long {  // NOLINT: OpenSSL's type
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  });
  return method;
}

bool LooksLikeTls(const std::byte* bytes, size_t count) {
  constexpr std::byte kAlert{21}, kHandshake{22}, kMajor{3};
  return count > 0 && (bytes[0] == kAlert || bytes[0] == kHandshake) &&
         (count == 1 || bytes[1] == kMajor);
}

}  // namespace hr::tcp
