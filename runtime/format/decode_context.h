// What every part of decoding needs: the limits, and a budget that bounds the memory which a small
// hostile structure can ask for by referring to one large list many times.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/function_ref.h"
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
  Status Charge(uint64_t count, uint64_t size);

  Status Text(const flatbuffers::String* text, std::string* out);

  template <typename T>
  Status List(const flatbuffers::Vector<T>* items, std::vector<T>* out) {
    if (items == nullptr) return {};
    HR_RETURN_IF_ERROR(Charge(items->size(), sizeof(T)));
    out->assign(items->data(), items->data() + items->size());
    return {};
  }

  Status DimList(const flatbuffers::Vector<int64_t>* dims, std::vector<int64_t>* out);

  // Calls decode(item, element) for every item and the element that it becomes in `out`.
  template <typename T, typename Element, typename Decode>
  Status Each(Literal what, const Tables<T>* items, std::vector<Element>* out, Decode decode) {
    out->clear();
    if (items == nullptr) return {};
    HR_RETURN_IF_ERROR(Charge(items->size(), sizeof(Element)));
    out->resize(items->size());
    return Number(what, items->size(),
                  [&](uint32_t i) { return decode(*items->Get(i), (*out)[i]); });
  }

  static Status CheckLimit(Literal what, uint64_t count, uint64_t limit);
  // A code that this library does not know.
  Status Unknown(Literal what, int64_t code) const;

 private:
  // decode(0) to decode(count - 1); a failure says which it was.
  static Status Number(Literal what, uint32_t count, FunctionRef<Status(uint32_t)> decode);

  // In memory nothing takes more than this many times its bytes in a file.
  static constexpr uint64_t kExpansion = 32;

  const ReadLimits& limits_;
  uint16_t minor_;
  uint64_t budget_;
};

}  // namespace hr::format
