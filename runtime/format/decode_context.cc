#include "runtime/format/decode_context.h"

namespace hr::format {

Status DecodeContext::Charge(uint64_t count, uint64_t size) {
  uint64_t bytes = count * size;  // no overflow: 2^31 items of some hundred bytes at most
  if (bytes > budget_) {
    return InvalidArgument("the structure refers to the same lists again and again, so that it ",
                           "would unfold to many times its size; write each list once");
  }
  budget_ -= bytes;
  return {};
}

Status DecodeContext::Text(const flatbuffers::String* text, std::string* out) {
  if (text == nullptr) return {};
  HR_RETURN_IF_ERROR(CheckLimit("bytes in a string", text->size(), limits_.string_bytes));
  HR_RETURN_IF_ERROR(Charge(text->size(), 1));
  out->assign(text->c_str(), text->size());
  return {};
}

Status DecodeContext::DimList(const flatbuffers::Vector<int64_t>* dims, std::vector<int64_t>* out) {
  if (dims != nullptr) HR_RETURN_IF_ERROR(CheckLimit("dimensions", dims->size(), limits_.rank));
  return List(dims, out);
}

Status DecodeContext::CheckLimit(Literal what, uint64_t count, uint64_t limit) {
  if (count <= limit) return {};
  return OutOfRange("there are ", count, " ", what, ", the limit is ", limit,
                    "; raise it in the options of reading if you trust the file");
}

Status DecodeContext::Unknown(Literal what, int64_t code) const {
  return Unimplemented("unknown ", what, " ", code, "; the file is of version ", kMajorVersion, ".",
                       minor_, ", this library knows ", kMajorVersion, ".", kMinorVersion,
                       "; update Headrace, or write the file again if it is damaged");
}

Status DecodeContext::Number(Literal what, uint32_t count, FunctionRef<Status(uint32_t)> decode) {
  for (uint32_t i = 0; i < count; ++i) {
    Status status = decode(i);
    if (!status.ok()) return std::move(status).WithContext(Cat(what, " ", i));
  }
  return {};
}

}  // namespace hr::format
