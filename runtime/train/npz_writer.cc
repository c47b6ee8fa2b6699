#include "runtime/train/npz_writer.h"

#include <zlib.h>

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/utf8.h"

namespace hr::train {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint32_t kSaturated32 = 0xFFFFFFFF;  // see the field of 64 bits
constexpr uint16_t kSaturated16 = 0xFFFF;
constexpr uint16_t kVersion = 45;                           // the first with fields of 64 bits
constexpr uint16_t kUtf8Name = 0x800;                       // a flag
constexpr uint16_t kWideSizes = 0x0001, kPadding = 0xD935;  // kinds of extra fields
constexpr uint32_t kDate = 0x00210000;  // 1 January 1980, 0:00: the same tensors, the same file
constexpr size_t kMostName = 60000;

// Numbers in the order of zip files.
class Fields {
 public:
  Fields& U16(uint16_t value) { return Number(value, 2); }
  Fields& U32(uint32_t value) { return Number(value, 4); }
  Fields& U64(uint64_t value) { return Number(value, 8); }
  Fields& Text(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  Fields& Number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> 8 * i);
    return *this;
  }
  std::string text_;
};

std::string_view TypeCode(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "<f4";
    case DType::kFloat64: return "<f8";
    case DType::kFloat16: return "<f2";
    case DType::kInt8: return "|i1";
    case DType::kInt16: return "<i2";
    case DType::kInt32: return "<i4";
    case DType::kInt64: return "<i8";
    case DType::kUint8: return "|u1";
    case DType::kUint16: return "<u2";
    case DType::kUint32: return "<u4";
    case DType::kUint64: return "<u8";
    case DType::kBool: return "|b1";
    default: return {};
  }
}

// Version 1.0, whose header has at most 64 KiB; dimensions are at most 64 numbers.
std::string NpyHeader(const Tensor& tensor) {
  std::string shape;
  for (const int64_t dim : tensor.dims()) shape += Cat(dim, ",");
  std::string text = Cat("{'descr': '", TypeCode(tensor.dtype()),
                         "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBefore = 10;
  text.resize((kBefore + text.size() + kAlignment) / kAlignment * kAlignment - kBefore - 1, ' ');
  text += '\n';
  Fields start;
  start.Text("\x93NUMPY").U16(1).U16(static_cast<uint16_t>(text.size()));
  return start.text() + text;
}

uint32_t Checksum(std::string_view header, Bytes elements) {
  uLong sum = crc32(0, nullptr, 0);
  sum = crc32_z(sum, reinterpret_cast<const Bytef*>(header.data()), header.size());
  sum = crc32_z(sum, reinterpret_cast<const Bytef*>(elements.data()), elements.size());
  return static_cast<uint32_t>(sum);
}

}  // namespace

Status NpzWriter::Add(const std::string& name, const Tensor& tensor) {
  if (TypeCode(tensor.dtype()).empty()) {
    return Unimplemented("'", name, "' is ", DTypeName(tensor.dtype()),
                         ", which NumPy does not have; write a .safetensors file");
  }
  if (!IsUtf8(name) || name.size() > kMostName) {
    return InvalidArgument("the name of an array is UTF-8 text of at most ", kMostName, " bytes");
  }
  const std::string header = NpyHeader(tensor);
  const Bytes elements(tensor.data(), tensor.bytes());
  Entry entry{.name = name + ".npy",
              .checksum = Checksum(header, elements),
              .bytes = header.size() + elements.size(),
              .offset = static_cast<uint64_t>(file_.offset())};
  constexpr uint64_t kLocal = 30, kExtra = 20, kPaddingHead = 4;
  const uint64_t before = entry.offset + kLocal + entry.name.size() + kExtra + kPaddingHead;
  const uint64_t padding = (kAlignment - before % kAlignment) % kAlignment;
  Fields local;
  local.U32(0x04034b50).U16(kVersion).U16(kUtf8Name).U16(0).U32(kDate).U32(entry.checksum);
  local.U32(kSaturated32).U32(kSaturated32).U16(static_cast<uint16_t>(entry.name.size()));
  local.U16(static_cast<uint16_t>(kExtra + kPaddingHead + padding)).Text(entry.name);
  local.U16(kWideSizes).U16(16).U64(entry.bytes).U64(entry.bytes);
  local.U16(kPadding).U16(static_cast<uint16_t>(padding)).Text(std::string(padding, '\0'));
  HR_RETURN_IF_ERROR(file_.Write(AsBytes(local.text())));
  HR_RETURN_IF_ERROR(file_.Write(AsBytes(header)));
  HR_RETURN_IF_ERROR(file_.Write(elements));
  entries_.push_back(std::move(entry));
  return {};
}

Status NpzWriter::Finish() {
  const auto begin = static_cast<uint64_t>(file_.offset());
  for (const Entry& entry : entries_) {
    Fields fields;
    fields.U32(0x02014b50).U16(kVersion).U16(kVersion).U16(kUtf8Name).U16(0).U32(kDate);
    fields.U32(entry.checksum).U32(kSaturated32).U32(kSaturated32);
    fields.U16(static_cast<uint16_t>(entry.name.size())).U16(28).U16(0).U16(0).U16(0).U32(0);
    fields.U32(kSaturated32).Text(entry.name);
    fields.U16(kWideSizes).U16(24).U64(entry.bytes).U64(entry.bytes).U64(entry.offset);
    HR_RETURN_IF_ERROR(file_.Write(AsBytes(fields.text())));
  }
  const auto end = static_cast<uint64_t>(file_.offset());
  constexpr uint64_t kEnd64 = 56;
  Fields fields;
  fields.U32(0x06064b50).U64(kEnd64 - 12).U16(kVersion).U16(kVersion).U32(0).U32(0);
  fields.U64(entries_.size()).U64(entries_.size()).U64(end - begin).U64(begin);
  fields.U32(0x07064b50).U32(0).U64(end).U32(1);
  fields.U32(0x06054b50).U16(0).U16(0).U16(kSaturated16).U16(kSaturated16);
  fields.U32(kSaturated32).U32(kSaturated32).U16(0);
  return file_.Write(AsBytes(fields.text()));
}

}  // namespace hr::train
