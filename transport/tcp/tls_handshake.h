// The handshake of TLS 1.3, which OpenSSL makes over a ByteStream.
#pragma once

#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "transport/tcp/tls_records.h"

namespace hr::tcp {

class TlsHandshake {
 public:
  TlsHandshake(comm::ByteStream& inner, bool dialled) : inner_(inner), dialled_(dialled) {}
  ~TlsHandshake();
  // Both outlive it.
  Status Open(SSL_CTX* context, const BIO_METHOD* method);

  // Goes on as far as it can now. A failure is final; what it has to tell the peer has been given
  // to the stream.
  Status Progress();
  // True if both sides have proven the key and all that this side had to say is written.
  bool done() const { return done_ && flushed(); }
  // False if it waits for the stream to take bytes.
  bool flushed() const { return out_.empty(); }
  // When done().
  const TlsSecret& secret(TlsRecords::Direction direction) const {
    return secrets_[(direction == TlsRecords::kSeal) == dialled_ ? 0 : 1];
  }

  // How OpenSSL reads and writes; null if memory ran out. The caller frees it.
  static BIO_METHOD* NewBioMethod();
  // To be called by the context for each of OpenSSL's key log lines.
  static void OnKeyLog(const SSL* ssl, const char* line);

 private:
  Status Flush();
  Status Fail(int result);
  Status Explain() const;
  Status NotTls();
  int Write(const char* bytes, int count);
  int Read(char* to, int room);

  comm::ByteStream& inner_;
  const bool dialled_;
  SSL* ssl_ = nullptr;
  bool begun_ = false;  // something came
  bool done_ = false;
  Status read_status_;      // of the stream
  std::string out_;         // waits to be written
  TlsSecret secrets_[2]{};  // of the client's and of the server's direction
};

}  // namespace hr::tcp
