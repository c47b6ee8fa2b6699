// What every part of decoding needs: the limits, and a budget that bounds the memory which a small
// hostile structure can ask for by referring to one large list many times.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/format/graph_def_generated.h"
#include "runtime/format/reader.h"
#include "runtime/format/version.h"

namespace hr::format {

template <typename T>
using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

class DecodeContext {
 public:
  DecodeContext(uint64_t structure_bytes, uint16_t minor, const ReadLimits& limits)
      : limits_(limits), minor_(minor), budget_(structure_bytes * kExpansion) {}

  const ReadLimits& limits() const { return limits_; }

  // Before memory for `count` items of `size` bytes is taken.
  Status Charge(uint64_t count, uint64_t size) {
    uint64_t bytes = count * size;  // no overflow: 2^31 items of some hundred bytes at most
    if (bytes > budget_) {
      return InvalidArgument("the structure refers to the same lists again and again, so that it ",
                             "would unfold to many times its size; write each list once");
    }
    budget_ -= bytes;
    return {};
  }

  Status Text(const flatbuffers::String* text, std::string* out) {
    if (text == nullptr) return {};
    HR_RETURN_IF_ERROR(CheckLimit("bytes in a string", text->size(), limits_.string_bytes));
    HR_RETURN_IF_ERROR(Charge(text->size(), 1));
    out->assign(text->c_str(), text->size());
    return {};
  }

  template <typename T>
  Status List(const flatbuffers::Vector<T>* items, std::vector<T>* out) {
    if (items == nullptr) return {};
    HR_RETURN_IF_ERROR(Charge(items->size(), sizeof(T)));
    out->assign(items->data(), items->data() + items->size());
    return {};
  }

  Status DimList(const flatbuffers::Vector<int64_t>* dims, std::vector<int64_t>* out) {
    if (dims != nullptr) HR_RETURN_IF_ERROR(CheckLimit("dimensions", dims->size(), limits_.rank));
    return List(dims, out);
  }

  // Calls decode(item, element) for every item and the element that it becomes in `out`.
  template <typename T, typename Element, typename Decode>
  Status Each(std::string_view what, const Tables<T>* items, std::vector<Element>* out,
              Decode decode) {
    out->clear();
    if (items == nullptr) return {};
    HR_RETURN_IF_ERROR(Charge(items->size(), sizeof(Element)));
    out->resize(items->size());
    for (uint32_t i = 0; i < items->size(); ++i) {
      Status status = decode(*items->Get(i), (*out)[i]);
      if (!status.ok()) return std::move(status).WithContext(Cat(what, " ", i));
    }
    return {};
  }

  static Status CheckLimit(std::string_view what, uint64_t count, uint64_t limit) {
    if (count <= limit) return {};
    return OutOfRange("there are ", count, " ", what, ", the limit is ", limit,
                      "; raise it in the options of reading if you trust the file");
  }

  // A code that this library does not know.
  Status Unknown(std::string_view what, int64_t code) const {
    return Unimplemented("unknown ", what, " ", code, "; the file is of version ", kMajorVersion,
                         ".", minor_, ", this library knows ", kMajorVersion, ".", kMinorVersion,
                         "; update Headrace, or write the file again if it is damaged");
  }

 private:
  // In memory nothing takes more than this many times its bytes in a file.
  static constexpr uint64_t kExpansion = 32;

  const ReadLimits& limits_;
  uint16_t minor_;
  uint64_t budget_;
};

}  // namespace hr::format
