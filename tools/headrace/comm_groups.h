// Groups for commands that run under a launcher or alone.
#pragma once

#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

// This process's rank of a launcher's group. If there is no launcher: a group of so many ranks,
// threads while they meet, all of them here, since none may miss another; in no particular order.
std::vector<hr::Group> JoinOrMake(const hr::Env& env, const hr_group_options& options,
                                  int32_t ranks);

}  // namespace headrace::tool
