#include "runtime/data/csv_value.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/data/decimal.h"
#include "runtime/data/query.h"

namespace hr::data {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
void Put(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
bool ReadFloat(std::string_view text, char point, std::byte* to) {
  T value;
  if (!FloatOf(text.data(), text.data() + text.size(), point, &value)) return false;
  Put(value, to);
  return true;
}

template <typename T>
bool ReadInteger(std::string_view text, std::byte* to) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  Put(value, to);
  return true;
}

bool ReadBool(std::string_view text, std::byte* to) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  const bool truth = lower == "1" || lower == "true";
  if (!truth && lower != "0" && lower != "false") return false;
  Put(truth, to);
  return true;
}

}  // namespace

bool CsvType::Read(std::string_view text, char point, std::byte* to) const {
  if (!categories.empty()) {
    const auto found = std::ranges::find(categories, text);
    if (found == categories.end()) return false;
    Put(static_cast<int64_t>(found - categories.begin()), to);
    return true;
  }
  text = Trim(text);
  switch (dtype) {
    case DType::kFloat32: return ReadFloat<float>(text, point, to);
    case DType::kFloat64: return ReadFloat<double>(text, point, to);
    case DType::kInt8: return ReadInteger<int8_t>(text, to);
    case DType::kInt16: return ReadInteger<int16_t>(text, to);
    case DType::kInt32: return ReadInteger<int32_t>(text, to);
    case DType::kInt64: return ReadInteger<int64_t>(text, to);
    case DType::kUint8: return ReadInteger<uint8_t>(text, to);
    case DType::kUint16: return ReadInteger<uint16_t>(text, to);
    case DType::kUint32: return ReadInteger<uint32_t>(text, to);
    case DType::kUint64: return ReadInteger<uint64_t>(text, to);
    case DType::kBool: return ReadBool(text, to);
    default: return false;
  }
}

std::string CsvType::Expectation() const {
  if (!categories.empty()) return Cat("one of ", Join(categories));
  if (dtype == DType::kBool) return "0, 1, true or false";
  return Cat(IsInteger(dtype) ? "an integer (" : "a number (", DTypeName(dtype), ")");
}

Result<CsvType> ParseCsvType(std::string_view text) {
  if (text.find('|') != std::string_view::npos) {
    CsvType type = {.dtype = DType::kInt64, .categories = SplitText(text, '|')};
    std::vector<std::string> sorted = type.categories;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
      return InvalidArgument("the category '", *twice, "' stands twice in '", text, "'");
    return type;
  }
  const std::optional<DType> dtype = DTypeFromName(text);
  const bool readable = dtype && (IsInteger(*dtype) || *dtype == DType::kBool ||
                                  *dtype == DType::kFloat32 || *dtype == DType::kFloat64);
  if (readable && DTypeSize(*dtype) > 0) return CsvType{*dtype, {}};
  return InvalidArgument("expected float32, float64, a type of integers, bool, or categories with ",
                         "'|' between as the type of a column, got '", text, "'");
}

}  // namespace hr::data
