#include "tools/headrace/dataset_spec.h"

#include "tools/headrace/errors.h"

namespace headrace::tool {

std::optional<std::string> DatasetSpec::Find(const std::string& key) const {
  size_t begin = text_.find('?');
  while (begin != std::string::npos) {
    size_t end = text_.find('&', begin + 1);
    std::string item = text_.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    if (item.starts_with(key + "=")) return item.substr(key.size() + 1);
    begin = end;
  }
  return std::nullopt;
}

void DatasetSpec::Add(const std::string& key, const std::string& value, const std::string& flag) {
  if (Find(key))
    throw UsageError("'" + text_ + "' sets " + key + " already; leave it out there or leave out " +
                     flag);
  AddDefault(key, value);
}

void DatasetSpec::AddDefault(const std::string& key, const std::string& value) {
  if (Find(key)) return;
  text_ += (text_.find('?') == std::string::npos ? "?" : "&") + key + "=" + value;
}

}  // namespace headrace::tool
