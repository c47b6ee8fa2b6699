#include "runtime/comm/losses.h"

#include <charconv>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::comm {

Result<Losses> Losses::Read(const std::string& path) {
  HR_ASSIGN_OR_RETURN(const std::string notes, ReadFile(path));
  Losses losses;
  std::string_view text = notes;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    int rank = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank);
    const std::string_view what(end, line.data() + line.size());
    if (error != std::errc() || (what != " replaced" && what != " gone")) {
      return DataLoss(path, ": expected lines 'RANK replaced' or 'RANK gone', got '", line, "'");
    }
    if (what == " gone") losses.gone_.insert(rank);
    if (what == " replaced") ++losses.replaced_[rank];
  }
  return losses;
}

std::vector<std::string> Losses::ProcessesOf(int size) const {
  std::vector<std::string> processes;
  for (int rank = 0; rank < size; ++rank) {
    if (!gone_.contains(rank)) processes.push_back(ProcessOf(rank));
  }
  return processes;
}

bool Losses::Has(std::string_view process) const {
  int rank = -1;
  std::from_chars(process.data(), process.data() + process.size(), rank);
  return !gone_.contains(rank) && ProcessOf(rank) == process;
}

std::string Losses::ProcessOf(int rank) const {
  const auto found = replaced_.find(rank);
  return found == replaced_.end() ? Cat(rank) : Cat(rank, ".", found->second);
}

}  // namespace hr::comm
