// The keys of an address, read by whoever knows them.
//
//   Query query(uri);
//   HR_RETURN_IF_ERROR(query.Int("batch", &options.batch));   // stays as it is if it is not given
//   HR_RETURN_IF_ERROR(query.CheckKnown());                   // nobody has asked for the others
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/uri.h"

namespace hr::data {

class Query {
 public:
  using Item = std::pair<std::string, std::string>;

  explicit Query(const Uri& uri) : items_(uri.query) {}

  // The value of a key, or null if it is not given. INVALID_ARGUMENT if it is given twice.
  Result<const std::string*> Find(std::string_view key);
  // All items with these keys, in the order in which they stand; they may stand several times.
  std::vector<Item> All(std::initializer_list<std::string_view> keys);

  // These set `*value` if the key is given; failures say what was expected.
  Status Int(std::string_view key, int64_t* value, int64_t least = INT64_MIN);
  Status Uint(std::string_view key, uint64_t* value);
  Status Bool(std::string_view key, bool* value);
  Status Text(std::string_view key, std::string* value);
  Status List(std::string_view key, std::vector<std::string>* values);  // with commas between
  // One of `choices`; sets its place.
  Status Choice(std::string_view key, std::initializer_list<std::string_view> choices,
                size_t* choice);

  // From here on, keys say what the examples are, and not how they are drawn.
  void BeginFormat() { format_ = known_.size(); }
  // The items with keys asked for since then, as text.
  std::string FormatText() const;

  // INVALID_ARGUMENT if there is a key that nobody has asked for; lists those that were asked for.
  Status CheckKnown() const;

 private:
  const std::vector<Item> items_;
  std::vector<std::string> known_;
  size_t format_ = 0;  // those from here on are the format's
};

// The pieces of `text` between separators; none if it is empty.
std::vector<std::string> SplitText(std::string_view text, char separator);

}  // namespace hr::data
