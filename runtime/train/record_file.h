// Files of records as TensorFlow frames them (tensorflow/core/lib/io/record_writer.h): length as 8
// little-endian bytes, masked CRC-32C of those, data, masked CRC-32C of the data.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/file.h"

namespace hr::train {

// The frame around one record.
std::string FrameRecord(std::string_view data);

// Appends records to a new file, gathered in memory between flushes. Not thread-safe.
class RecordWriter {
 public:
  static Result<RecordWriter> Create(const std::string& path);
  RecordWriter(RecordWriter&&) = default;
  RecordWriter& operator=(RecordWriter&&) = default;

  // Fails if a flush that became necessary fails; the record is kept for the next one, unless
  // 64 MiB wait already.
  Status Write(std::string_view data);
  // Hands everything to the operating system. After a failure what was not written stays here, and
  // the file goes on where it stopped.
  Status Flush();

 private:
  explicit RecordWriter(FileWriter file) : file_(std::move(file)) {}

  FileWriter file_;
  std::string pending_;
};

}  // namespace hr::train
