#include "transport/tcp/tls_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::tcp {
namespace {

// Records that go to the socket, and come from it, in one call: fewer system calls against memory
// that stays in the cache.
constexpr size_t kBatchRecords = 16;
constexpr size_t kInBytes = 256 << 10;
// A KeyUpdate message that asks for no answer (RFC 8446, 4.6.3).
constexpr std::array<std::byte, 5> kKeyUpdate = {std::byte{24}, {}, {}, std::byte{1}, {}};
constexpr size_t kMaxRecordPieces = 8;

}  // namespace

// The caller's bytes, cut into what one record holds.
class TlsStream::Pieces {
 public:
  explicit Pieces(std::span<const Bytes> pieces) : rest_(pieces) {}

  // The next bytes, kTlsRecordBytes at most; valid until the next call. Empty at the end.
  std::span<const Bytes> Next() {
    size_t count = 0;
    for (size_t bytes = 0; bytes < kTlsRecordBytes && count < kMaxRecordPieces; ++count) {
      cut_[count] = Take(kTlsRecordBytes - bytes);
      if (cut_[count].empty()) break;
      bytes += cut_[count].size();
    }
    return {cut_, count};
  }
  // Skips that many bytes, or all if there are fewer; returns how many it skipped.
  size_t Skip(size_t bytes) {
    size_t skipped = 0;
    while (skipped < bytes) {
      const size_t part = Take(bytes - skipped).size();
      if (part == 0) break;
      skipped += part;
    }
    return skipped;
  }

 private:
  Bytes Take(size_t most) {
    while (!rest_.empty() && begin_ == rest_[0].size()) {
      rest_ = rest_.subspan(1);
      begin_ = 0;
    }
    if (rest_.empty()) return {};
    const Bytes part = rest_[0].subspan(begin_, std::min(most, rest_[0].size() - begin_));
    begin_ += part.size();
    return part;
  }

  std::span<const Bytes> rest_;
  size_t begin_ = 0;  // in the first
  Bytes cut_[kMaxRecordPieces];
};

// The handshake, and what else this side has to write by itself.
Status TlsStream::Progress() {
  if (handshake_ == nullptr) {
    // A write that fails is no failure here: the peer's last words, still to be read, say more.
    if (sealed_ == 0) Flush().IgnoreError();
    return {};
  }
  HR_RETURN_IF_ERROR(handshake_->Progress());
  return handshake_->done() ? EndHandshake() : Status();
}

Status TlsStream::EndHandshake() {
  for (auto [direction, records] :
       {std::pair(TlsRecords::kSeal, &sealer_), std::pair(TlsRecords::kOpen, &opener_)}) {
    HR_ASSIGN_OR_RETURN(TlsRecords made,
                        TlsRecords::Create(direction, handshake_->secret(direction)));
    *records = std::make_unique<TlsRecords>(std::move(made));
  }
  handshake_.reset();
  // The buffers come only now, so a stranger costs none.
  out_.resize((kBatchRecords + 1) * (kTlsRecordBytes + kTlsOverhead));
  in_.resize(kInBytes);
  plain_.resize(kTlsRecordBytes);
  return {};
}

Status TlsStream::Flush() {
  while (out_begin_ < out_end_) {
    const Bytes rest(out_.data() + out_begin_, out_end_ - out_begin_);
    HR_ASSIGN_OR_RETURN(const size_t written, inner_->Write({&rest, 1}));
    if (written == 0) return {};
    out_begin_ += written;
  }
  out_begin_ = out_end_ = 0;
  return {};
}

Status TlsStream::Seal(TlsContent content, std::span<const Bytes> pieces) {
  HR_ASSIGN_OR_RETURN(const size_t bytes, sealer_->Seal(content, pieces, out_.data() + out_end_));
  out_end_ += bytes;
  return {};
}

// Returns how many of the caller's bytes it holds.
Result<size_t> TlsStream::SealBatch(Pieces& pieces) {
  size_t taken = 0;
  for (size_t i = 0; i < kBatchRecords; ++i) {
    const std::span<const Bytes> cut = pieces.Next();
    if (cut.empty()) break;
    HR_RETURN_IF_ERROR(Seal(TlsContent::kData, cut));
    for (Bytes piece : cut) taken += piece.size();
  }
  if (sealer_->count() >= records_of_a_key_) {
    const Bytes update(kKeyUpdate);
    HR_RETURN_IF_ERROR(Seal(TlsContent::kHandshake, {&update, 1}));
    HR_RETURN_IF_ERROR(sealer_->Renew());
  }
  return taken;
}

Result<size_t> TlsStream::Write(std::span<const Bytes> given) {
  HR_RETURN_IF_ERROR(status_.Clone());
  if (handshake_ != nullptr) {
    if (status_ = Progress(); !status_.ok()) return status_.Clone();
    if (handshake_ != nullptr) return size_t{0};
  }
  HR_RETURN_IF_ERROR(Flush());
  if (out_end_ > 0) return size_t{0};
  // Bytes count as accepted when their records have been written. A caller who was told that none
  // were accepted comes again with the same bytes.
  Pieces pieces(given);
  size_t accepted = pieces.Skip(sealed_);
  sealed_ -= accepted;
  for (;;) {
    HR_ASSIGN_OR_RETURN(const size_t taken, SealBatch(pieces));
    if (taken == 0) return accepted;
    HR_RETURN_IF_ERROR(Flush());
    if (out_end_ > 0) {
      sealed_ = taken;
      return accepted;
    }
    accepted += taken;
  }
}

// True if a whole record, or a header that cannot be one's, has come.
bool TlsStream::HasRecord() const {
  const size_t held = in_end_ - in_begin_;
  if (held < kTlsHeaderBytes) return false;
  const Result<size_t> bytes = TlsRecords::ContentBytes(in_.data() + in_begin_);
  return !bytes.ok() || held >= *bytes + kTlsOverhead;
}

Status TlsStream::FillIn() {
  if (in_begin_ > 0) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= std::exchange(in_begin_, 0);
  }
  HR_ASSIGN_OR_RETURN(const size_t got, inner_->Read(in_.data() + in_end_, in_.size() - in_end_));
  in_end_ += got;
  return {};
}

size_t TlsStream::TakePlain(std::byte* to, size_t room) {
  const size_t count = std::min(room, plain_end_ - plain_begin_);
  if (count > 0) std::memcpy(to, plain_.data() + plain_begin_, count);
  plain_begin_ += count;
  return count;
}

// If the contents fit in, they are written to their destination at once.
Result<size_t> TlsStream::OpenRecord(std::byte* to, size_t room) {
  const std::byte* record = in_.data() + in_begin_;
  HR_ASSIGN_OR_RETURN(const size_t bytes, TlsRecords::ContentBytes(record));
  const bool fits = bytes <= room;
  std::byte* out = fits ? to : plain_.data();
  HR_ASSIGN_OR_RETURN(const TlsContent content, opener_->Open(record, bytes, out));
  in_begin_ += bytes + kTlsOverhead;
  if (content != TlsContent::kData) {
    HR_RETURN_IF_ERROR(OnOther(content, {out, bytes}));
    return size_t{0};
  }
  if (fits) return bytes;
  plain_begin_ = 0;
  plain_end_ = bytes;
  return TakePlain(to, room);
}

Status TlsStream::OnOther(TlsContent content, Bytes bytes) {
  if (content == TlsContent::kHandshake &&
      std::equal(bytes.begin(), bytes.end(), kKeyUpdate.begin(), kKeyUpdate.end())) {
    return opener_->Renew();
  }
  if (content == TlsContent::kAlert) return Unavailable("the peer ended the TLS connection");
  return DataLoss("the peer sent a TLS record of an unknown kind");
}

Result<size_t> TlsStream::Read(std::byte* to, size_t bytes) {
  if (status_.ok()) status_ = Progress();
  HR_RETURN_IF_ERROR(status_.Clone());
  if (handshake_ != nullptr) return size_t{0};
  size_t total = TakePlain(to, bytes);
  if (total < bytes && !HasRecord()) status_ = FillIn();
  while (status_.ok() && total < bytes && HasRecord()) {
    Result<size_t> got = OpenRecord(to + total, bytes - total);
    if (got.ok()) total += *got;
    if (!got.ok()) status_ = std::move(got).status();
  }
  if (status_.ok() || total > 0) return total;  // the failure comes with the next call
  return status_.Clone();
}

bool TlsStream::Arm(bool read, bool write) {
  if (handshake_ != nullptr) return status_.ok() && inner_->Arm(true, !handshake_->flushed());
  if (read && (!status_.ok() || plain_begin_ < plain_end_ || HasRecord())) return false;
  return inner_->Arm(read, write || out_begin_ < out_end_);
}

}  // namespace hr::tcp
