// Encodes protocol buffer messages (protobuf.dev/programming-guides/encoding), field by field.
//
//   ProtoWriter value;
//   value.String(1, "loss").Float(2, 0.5f);
//   ProtoWriter summary;
//   summary.Message(1, value);
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace hr::train {

class ProtoWriter {
 public:
  // int32, int64, uint64, bool and enum fields.
  ProtoWriter& Int(int field, int64_t value) {
    Tag(field, 0);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtoWriter& Double(int field, double value) {
    return Fixed(field, 1, std::bit_cast<uint64_t>(value));
  }
  ProtoWriter& Float(int field, float value) {
    return Fixed(field, 5, std::bit_cast<uint32_t>(value));
  }
  // string, which the caller knows to be UTF-8, and bytes.
  ProtoWriter& String(int field, std::string_view value) {
    Tag(field, 2);
    Varint(value.size());
    bytes_.append(value);
    return *this;
  }
  ProtoWriter& Message(int field, const ProtoWriter& message) {
    return String(field, message.bytes_);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Tag(int field, int wire_type) {
    Varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  template <typename T>
  ProtoWriter& Fixed(int field, int wire_type, T value) {
    Tag(field, wire_type);
    for (size_t i = 0; i < sizeof value; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }

  std::string bytes_;
};

}  // namespace hr::train
