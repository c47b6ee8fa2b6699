// The processes that a launcher has lost. It notes them in a file, one on a line: "RANK replaced"
// if another process takes the rank, or "RANK gone". Ranks that have not met learn of a death by
// nothing else.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace hr::comm {

class Losses {
 public:
  // Reads the notes. DATA_LOSS if they are none.
  static Result<Losses> Read(const std::string& path);

  // Returns the processes of a job of `size` ranks that are left, in the order of their ranks.
  std::vector<std::string> ProcessesOf(int size) const;
  // Returns the name of the process that has `rank` now: the rank, and behind a dot how many have
  // had it before, such as "2.1".
  std::string ProcessOf(int rank) const;
  // Returns whether a process of that name is left.
  bool Has(std::string_view process) const;
  bool any() const { return !replaced_.empty() || !gone_.empty(); }
  bool operator==(const Losses& other) const = default;

 private:
  std::map<int, int> replaced_;  // how often, by rank
  std::set<int> gone_;
};

}  // namespace hr::comm
