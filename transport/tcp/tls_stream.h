// A ByteStream that encrypts what passes over another one.
#pragma once

#include <memory>
#include <vector>

#include "transport/tcp/tls_handshake.h"

namespace hr::tcp {

class TlsStream final : public comm::ByteStream {
 public:
  TlsStream(std::unique_ptr<comm::ByteStream> inner, std::unique_ptr<TlsHandshake> handshake,
            uint64_t records_of_a_key)
      : inner_(std::move(inner)),
        handshake_(std::move(handshake)),
        records_of_a_key_(records_of_a_key) {}

  Result<size_t> Write(std::span<const Bytes> pieces) override;
  Result<size_t> Read(std::byte* to, size_t bytes) override;
  void EndWriting() override { inner_->EndWriting(); }
  bool Arm(bool read, bool write) override;
  std::string Describe() const override { return inner_->Describe(); }

 private:
  class Pieces;
  Status Progress();
  Status EndHandshake();
  Status Flush();
  Status Seal(TlsContent content, std::span<const Bytes> pieces);
  Result<size_t> SealBatch(Pieces& pieces);
  Status FillIn();
  Result<size_t> OpenRecord(std::byte* to, size_t room);
  Status OnOther(TlsContent content, Bytes bytes);
  bool HasRecord() const;
  size_t TakePlain(std::byte* to, size_t room);

  const std::unique_ptr<comm::ByteStream> inner_;
  std::unique_ptr<TlsHandshake> handshake_;  // null when it is over
  const uint64_t records_of_a_key_;
  Status status_;
  std::unique_ptr<TlsRecords> sealer_, opener_;

  std::vector<std::byte> out_;  // room for a batch of records
  size_t out_begin_ = 0;        // of the records not yet written
  size_t out_end_ = 0;
  size_t sealed_ = 0;  // the caller's bytes in them, not yet reported as accepted

  std::vector<std::byte> in_;  // room for records as they come
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  std::vector<std::byte> plain_;  // contents that did not fit where they were asked for
  size_t plain_begin_ = 0;
  size_t plain_end_ = 0;
};

}  // namespace hr::tcp
