// Addresses of data sets, SCHEME:PATH?KEY=VALUE&…, to which flags add what they say.
#pragma once

#include <optional>
#include <string>

namespace headrace::tool {

class DatasetSpec {
 public:
  explicit DatasetSpec(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }
  std::optional<std::string> Find(const std::string& key) const;
  // Throws UsageError if the address says it already; `flag` is what said it too.
  void Add(const std::string& key, const std::string& value, const std::string& flag);
  // Leaves what the address says.
  void AddDefault(const std::string& key, const std::string& value);

 private:
  std::string text_;
};

}  // namespace headrace::tool
