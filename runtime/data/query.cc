#include "runtime/data/query.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::data {

std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    pieces.emplace_back(text.substr(0, end));
    if (end + 1 == text.size()) pieces.emplace_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

Result<const std::string*> Query::Find(std::string_view key) {
  known_.emplace_back(key);
  const std::string* found = nullptr;
  for (const Item& item : items_) {
    if (item.first != key) continue;
    if (found != nullptr)
      return InvalidArgument("the key '", key, "' is given twice in the address");
    found = &item.second;
  }
  return found;
}

std::vector<Query::Item> Query::All(std::initializer_list<std::string_view> keys) {
  known_.insert(known_.end(), keys.begin(), keys.end());
  std::vector<Item> found;
  for (const Item& item : items_) {
    if (std::ranges::find(keys, item.first) != keys.end()) found.push_back(item);
  }
  return found;
}

Status Query::Int(std::string_view key, int64_t* value, int64_t least) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text == nullptr) return {};
  HR_ASSIGN_OR_RETURN(*value, ParseIntOption(key, *text));
  if (*value >= least) return {};
  return InvalidArgument("expected at least ", least, " as '", key, "', got ", *value);
}

Status Query::Uint(std::string_view key, uint64_t* value) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text == nullptr) return {};
  HR_ASSIGN_OR_RETURN(*value, ParseUintOption(key, *text));
  return {};
}

Status Query::Bool(std::string_view key, bool* value) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text == nullptr) return {};
  HR_ASSIGN_OR_RETURN(*value, ParseBoolOption(key, *text));
  return {};
}

Status Query::Text(std::string_view key, std::string* value) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text != nullptr) *value = *text;
  return {};
}

Status Query::List(std::string_view key, std::vector<std::string>* values) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text != nullptr) *values = SplitText(*text, ',');
  return {};
}

Status Query::Choice(std::string_view key, std::initializer_list<std::string_view> choices,
                     size_t* choice) {
  HR_ASSIGN_OR_RETURN(const std::string* text, Find(key));
  if (text == nullptr) return {};
  const auto found = std::ranges::find(choices, *text);
  if (found == choices.end()) {
    const std::vector<std::string> names(choices.begin(), choices.end());
    return InvalidArgument("expected ", Join(names, " or "), " as '", key, "', got '", *text, "'");
  }
  *choice = static_cast<size_t>(found - choices.begin());
  return {};
}

std::string Query::FormatText() const {
  std::string text;
  for (size_t i = format_; i < known_.size(); ++i) {
    for (const Item& item : items_) {
      if (item.first == known_[i]) text += Cat(item.first, "=", item.second, "\n");
    }
  }
  return text;
}

Status Query::CheckKnown() const {
  for (const Item& item : items_) {
    if (std::ranges::find(known_, item.first) != known_.end()) continue;
    const std::string_view close = ClosestWord(item.first, known_);
    const std::string hint = close.empty() ? "" : Cat("; did you mean '", close, "'?");
    return InvalidArgument("unknown key '", item.first, "' in the address of a data set; the keys ",
                           "are ", Join(known_), hint);
  }
  return {};
}

}  // namespace hr::data
