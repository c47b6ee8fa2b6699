// Choosing variables and nodes by patterns of their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace hr::transform {

// Whether the name fits the pattern, in which '*' stands for any characters and '?' for one.
bool FitsPattern(std::string_view pattern, std::string_view name);

// One for each name: whether it fits any of the patterns, which commas separate. NOT_FOUND, with
// the nearest names, if a pattern fits none; `what` are the names ("variable"). INVALID_ARGUMENT if
// there is no pattern.
Result<std::vector<char>> MatchNames(Literal what, std::string_view patterns,
                                     std::span<const std::string> names);

}  // namespace hr::transform
