// One registration for each kind of store: everything in this folder runs over all of them.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/comm/store.h"

namespace hr::comm {

// A new, empty store, as several processes have it: each open() is one process's.
struct StoreFixture {
  std::function<std::shared_ptr<Store>()> open;
  std::shared_ptr<void> keeps;
};
struct StoreDriver {
  std::string name;
  std::function<StoreFixture()> create;
};
inline void PrintTo(const StoreDriver& driver, std::ostream* out) { *out << driver.name; }

std::vector<StoreDriver> StoreDrivers();

}  // namespace hr::comm
