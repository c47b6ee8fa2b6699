#include "converters/onnx/rope.h"

#include <protozero/pbf_writer.hpp>

namespace hr::onnx {

using protozero::pbf_writer;

std::string& Rope::Tail() {
  if (pieces_.empty() || !pieces_.back().outside.empty()) pieces_.emplace_back();
  return pieces_.back().text;
}

template <typename Append>
void Rope::Grow(Append append) {
  std::string& tail = Tail();
  const size_t before = tail.size();
  append(tail);
  bytes_ += tail.size() - before;
}

void Rope::Int(uint32_t field, int64_t value) {
  Grow([&](std::string& tail) { pbf_writer(tail).add_int64(field, value); });
}

void Rope::Float(uint32_t field, float value) {
  Grow([&](std::string& tail) { pbf_writer(tail).add_float(field, value); });
}

void Rope::Text(uint32_t field, std::string_view text) {
  Grow([&](std::string& tail) { pbf_writer(tail).add_string(field, text.data(), text.size()); });
}

void Rope::Ints(uint32_t field, std::span<const int64_t> values) {
  Grow([&](std::string& tail) {
    pbf_writer(tail).add_packed_int64(field, values.begin(), values.end());
  });
}

void Rope::Floats(uint32_t field, std::span<const double> values) {
  std::vector<float> narrow(values.begin(), values.end());
  Grow([&](std::string& tail) {
    pbf_writer(tail).add_packed_float(field, narrow.begin(), narrow.end());
  });
}

void Rope::Open(uint32_t field, uint64_t bytes) {
  constexpr uint32_t kLengthDelimited = 2;
  Grow([&](std::string& tail) {
    protozero::add_varint_to_buffer(&tail, field << 3 | kLengthDelimited);
    protozero::add_varint_to_buffer(&tail, bytes);
  });
}

void Rope::Message(uint32_t field, Rope message) {
  Open(field, message.bytes_);
  bytes_ += message.bytes_;
  for (Piece& piece : message.pieces_) {
    Tail() += piece.text;
    pieces_.back().outside = piece.outside;
  }
}

void Rope::Outside(uint32_t field, Bytes bytes) {
  Open(field, bytes.size());
  bytes_ += bytes.size();
  pieces_.back().outside = bytes;
}

Status Rope::Send(FunctionRef<Status(Bytes)> sink) const {
  for (const Piece& piece : pieces_) {
    HR_RETURN_IF_ERROR(sink(AsBytes(piece.text)));
    if (!piece.outside.empty()) HR_RETURN_IF_ERROR(sink(piece.outside));
  }
  return {};
}

}  // namespace hr::onnx
