// The types of CSV's columns, and their values as elements of tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/result.h"

namespace hr::data {

struct CsvType {
  DType dtype = DType::kFloat32;
  // If there are any, texts are delivered as their places in this list, as int64.
  std::vector<std::string> categories;

  // The bytes of `text` as an element, written to `to`. Spaces around numbers do not matter. False
  // if the text is none of the type.
  bool Read(std::string_view text, char point, std::byte* to) const;
  // "a number (float32)", "one of a, b, c": what was expected.
  std::string Expectation() const;
};

// The name of an element type, or categories with '|' between.
Result<CsvType> ParseCsvType(std::string_view text);

}  // namespace hr::data
