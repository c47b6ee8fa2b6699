// The host's side of a plugin's native groups.
#pragma once

#include <memory>

#include "headrace/plugin_group.h"
#include "runtime/comm/collectives.h"
#include "runtime/plugin/plugin.h"

namespace hr::plugin {

// Makes a native group of the ranks of `group`: it performs what it supports, and `group`, to which
// nobody else posts, does the rest, forms it and watches over the ranks. If one of the two ends, so
// does the other. All ranks call it; `plugin` (null: this rank has none) is used if they all have
// one with a native group of the same name, otherwise `group` is returned, and `log` is told.
// `timeout_nanos`: of operations without a deadline; negative: none.
Result<std::shared_ptr<comm::Collectives>> WithNativeGroup(std::shared_ptr<comm::Collectives> group,
                                                           std::shared_ptr<Plugin> plugin,
                                                           int64_t timeout_nanos, LogSink* log,
                                                           const CallLimits& limits);

}  // namespace hr::plugin
