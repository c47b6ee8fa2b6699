// Names of side files, which hold segments beside a graph file.
#pragma once

#include <string_view>

#include "runtime/base/result.h"

namespace hr::format {

// Fails unless `name` is a relative path that stays below the graph file's folder.
Status CheckSideFileName(std::string_view name);

}  // namespace hr::format
