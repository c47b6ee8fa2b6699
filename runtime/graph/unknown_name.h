// What is said of a name that nothing has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace hr::graph {

// Returns NOT_FOUND: "the model has no value 'x'", with the closest known name, or with all if
// there are few.
Status UnknownName(Literal owner, Literal what, std::string_view name,
                   std::span<const std::string> known);

// Returns the names of nodes, values, variables or signatures that have one.
template <typename Items>
std::vector<std::string> NamesOf(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    if (!item.name.empty()) names.push_back(item.name);
  }
  return names;
}

}  // namespace hr::graph
