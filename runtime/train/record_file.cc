#include "runtime/train/record_file.h"

#include "runtime/base/crc32c.h"

namespace hr::train {
namespace {

constexpr size_t kMostPending = 256 << 10;
constexpr size_t kMostKept = 64 << 20;  // while the disk is full

// Rotated and shifted, so that a CRC of data which contains CRCs stays meaningful.
uint32_t MaskedCrc(std::string_view data) {
  uint32_t crc = Crc32c(AsBytes(data));
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

void AppendLittleEndian(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string FrameRecord(std::string_view data) {
  std::string frame;
  AppendLittleEndian(&frame, data.size(), 8);
  AppendLittleEndian(&frame, MaskedCrc(frame), 4);
  frame.append(data);
  AppendLittleEndian(&frame, MaskedCrc(data), 4);
  return frame;
}

Result<RecordWriter> RecordWriter::Create(const std::string& path) {
  HR_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  return RecordWriter(std::move(file));
}

Status RecordWriter::Write(std::string_view data) {
  if (pending_.size() >= kMostKept) HR_RETURN_IF_ERROR(Flush());
  pending_ += FrameRecord(data);
  return pending_.size() < kMostPending ? Status() : Flush();
}

Status RecordWriter::Flush() {
  int64_t before = file_.offset();
  Status status = file_.Write(AsBytes(pending_));
  pending_.erase(0, static_cast<size_t>(file_.offset() - before));
  return status;
}

}  // namespace hr::train
