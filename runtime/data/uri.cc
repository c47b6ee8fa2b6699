#include "runtime/data/uri.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

// The part of `text` before `separator`; `text` keeps what follows.
std::string_view TakeUntil(std::string_view* text, char separator) {
  size_t end = std::min(text->find(separator), text->size());
  std::string_view head = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return head;
}

Result<std::string> Decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '%') {
      std::string_view digits = text.substr(i + 1, 2);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
      if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2) {
        return InvalidArgument("expected two hexadecimal digits after '%' in '", text, "'");
      }
      i += 2;
    }
    out.push_back(static_cast<char>(c));
  }
  return out;
}

template <typename T>
Result<T> ParseNumber(std::string_view key, std::string_view value, std::string_view expected) {
  T number{};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    return InvalidArgument("expected ", expected, " as '", key, "', got '", value, "'");
  }
  return number;
}

}  // namespace

std::string_view WithoutQuery(std::string_view text) { return text.substr(0, text.find('?')); }

Result<Uri> ParseUri(std::string_view text) {
  if (text.find(':') == std::string_view::npos) {
    return InvalidArgument("expected an address like 'idx:FOLDER/train?batch=64', got '",
                           WithoutQuery(text), "'");
  }
  Uri uri;
  uri.scheme = TakeUntil(&text, ':');
  HR_ASSIGN_OR_RETURN(uri.path, Decode(TakeUntil(&text, '?')));
  while (!text.empty()) {
    std::string_view item = TakeUntil(&text, '&');
    if (item.find('=') == std::string_view::npos) {
      return InvalidArgument("expected KEY=VALUE after '?' in the address, got '", item, "'");
    }
    std::string key(TakeUntil(&item, '='));
    HR_ASSIGN_OR_RETURN(std::string value, Decode(item));
    uri.query.emplace_back(std::move(key), std::move(value));
  }
  return uri;
}

Result<int64_t> ParseIntOption(std::string_view key, std::string_view value) {
  return ParseNumber<int64_t>(key, value, "an integer");
}

Result<uint64_t> ParseUintOption(std::string_view key, std::string_view value) {
  return ParseNumber<uint64_t>(key, value, "an integer of at least 0");
}

Result<float> ParseFloatOption(std::string_view key, std::string_view value) {
  return ParseNumber<float>(key, value, "a number");
}

Result<bool> ParseBoolOption(std::string_view key, std::string_view value) {
  if (value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return InvalidArgument("expected 0 or 1 as '", key, "', got '", value, "'");
}

}  // namespace hr::data
