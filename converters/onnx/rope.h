// A protocol buffer that is written: text, and between it bytes that are sent from where they lie.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/file.h"

namespace hr::onnx {

class Rope {
 public:
  // Fields of numbers and text; what is left out is 0 or "".
  void Int(uint32_t field, int64_t value);
  void Float(uint32_t field, float value);
  void Text(uint32_t field, std::string_view text);
  // Packed.
  void Ints(uint32_t field, std::span<const int64_t> values);
  void Floats(uint32_t field, std::span<const double> values);
  // A message within this one.
  void Message(uint32_t field, Rope message);
  // Bytes that must stay where they are until the rope has been sent.
  void Outside(uint32_t field, Bytes bytes);

  uint64_t bytes() const { return bytes_; }
  // The bytes in order; a failure of `sink` is passed on.
  Status Send(FunctionRef<Status(Bytes)> sink) const;

 private:
  struct Piece {
    std::string text;
    Bytes outside;  // after the text
  };
  // The text at the end; what is appended is counted by Grown.
  std::string& Tail();
  void Open(uint32_t field, uint64_t bytes);
  template <typename Append>
  void Grow(Append append);

  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace hr::onnx
