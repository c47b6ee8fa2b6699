// Programs saved here and run in a new process, which must have the same bits.
#pragma once

#include "tests/conformance/random_graphs/judge.h"

namespace hr::random_graphs {

// A folder that is there as long as this is.
class SavedPrograms {
 public:
  SavedPrograms();
  ~SavedPrograms();
  SavedPrograms(const SavedPrograms&) = delete;
  SavedPrograms& operator=(const SavedPrograms&) = delete;

  // Saves the program's module and keeps the hash of its results.
  Status Save(const ops::OpRegistry& registry, const std::string& name, const Program& program,
              uint64_t hash);
  // The names of those whose results differ in a new process, which `command` starts.
  Result<std::vector<std::string>> Differing(std::vector<std::string> command) const;

 private:
  std::string folder_;
  std::map<std::string, uint64_t> hashes_;
};

// What the new process does: a line with name and hash for each program of the folder.
Status RunSaved(const std::string& folder);

}  // namespace hr::random_graphs
