// Addresses of the form SCHEME:PATH?KEY=VALUE&KEY=VALUE.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace hr::data {

struct Uri {
  std::string scheme;
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

// For messages: what was asked for, without options that a program may have added.
std::string_view WithoutQuery(std::string_view text);

// INVALID_ARGUMENT without a scheme and for an item without '='.
// "%2F" and the like are decoded in the path and in values.
Result<Uri> ParseUri(std::string_view text);

// The whole of `value` as a number or truth value ("0", "1", "false", "true"); failures name `key`.
Result<int64_t> ParseIntOption(std::string_view key, std::string_view value);
Result<uint64_t> ParseUintOption(std::string_view key, std::string_view value);
Result<bool> ParseBoolOption(std::string_view key, std::string_view value);
Result<float> ParseFloatOption(std::string_view key, std::string_view value);

}  // namespace hr::data
