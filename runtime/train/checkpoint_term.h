// Who may write into a directory of checkpoints, where several groups of processes may think that
// they are the one: a group that goes on in a new epoch leaves ranks behind, some of them frozen in
// the middle of a save.
//
// Whoever writes for a group first takes the directory, for a term: a number that nobody had
// before. Checkpoints carry the term in their names, readers prefer the highest one, and a writer
// whose term is over fails and touches nothing of later terms. (Raft's terms do the same for logs,
// https://raft.github.io/raft.pdf.)
//
//   DIR/term-000007/owner.json           {"job":"5f0c…","epoch":2}
//   DIR/step-000123-term-000007/…        without "-term-…" where no group has written here yet
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"

namespace hr::train {

// Of the epochs of one job, the highest may write; of several jobs, the one whose latest epoch came
// last.
struct CheckpointOwner {
  std::string job;
  uint64_t epoch = 0;

  bool operator==(const CheckpointOwner&) const = default;
};

// Endings of a step's folder while it is written, and while another takes its place.
inline constexpr std::string_view kTemporaryEnding = ".tmp";
inline constexpr std::string_view kOldEnding = ".old";

// What a step's folder is called: "step-000123", "step-000123-term-000007".
struct CheckpointName {
  int64_t step = 0;
  uint64_t term = 0;  // 0: of nobody in particular

  std::string Text() const;
  // Null where `text` is not exactly such a name.
  static std::optional<CheckpointName> Parse(std::string_view text);
  // Whether a reader prefers it to `other`.
  bool IsNewerThan(const CheckpointName& other) const {
    return std::pair(term, step) > std::pair(other.term, other.step);
  }
};

// Takes DIRECTORY, which is made where it is missing, for `owner`; returns the term, which is the
// same as before where the owner has the directory already. Where it has not, no commit of an
// earlier term succeeds any more once this returns. FAILED_PRECONDITION where a later epoch of the
// job, or a job that came after this epoch, has it. Without an owner: the term of whoever had it
// last.
Result<uint64_t> TakeTerm(const std::string& directory,
                          const std::optional<CheckpointOwner>& owner);

// FAILED_PRECONDITION where DIRECTORY has a later term than that, which `owner` took.
Status CheckTerm(const std::string& directory, uint64_t term,
                 const std::optional<CheckpointOwner>& owner);

// Removes a folder, which is gone at once, so that whoever writes into it cannot finish it
// meanwhile, and a crash leaves no half of it under its name.
Status RemoveAside(const std::string& path);

// Removes what is being written in terms up to this one, a checkpoint or a term itself, unless the
// writer is just doing so. A writer that lives notices.
void RemoveUnfinished(const std::string& directory, uint64_t term);

}  // namespace hr::train
