// Decides which of several groups of processes may write into a directory of checkpoints. When a
// group goes on in a new epoch, it leaves ranks behind, and some of them may be frozen during a
// save.
//
// A process that writes for a group first takes the directory for a term, a number that is used
// only once. The names of checkpoints contain the term, and readers prefer the highest one. A
// writer whose term is over fails and changes nothing of later terms. (Terms of Raft have the same
// purpose for logs, https://raft.github.io/raft.pdf.)
//
//   DIR/term-000007/owner.json           {"job":"5f0c…","epoch":2}
//   DIR/step-000123-term-000007/…        without "-term-…" if no group has written here yet
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"

namespace hr::train {

// Of the epochs of one job, the highest one may write; of several jobs, the one whose latest
// epoch took the directory last.
struct CheckpointOwner {
  std::string job;
  uint64_t epoch = 0;

  bool operator==(const CheckpointOwner&) const = default;
};

// What the names of a step's folders end with: of one that is being written, and of one that
// another takes the place of. Before the ending comes what tells those of several writers apart.
inline constexpr std::string_view kTemporaryEnding = ".tmp";
inline constexpr std::string_view kOldEnding = ".old";

// What a step's folder is called: "step-000123", "step-000123-term-000007".
struct CheckpointName {
  int64_t step = 0;
  uint64_t term = 0;  // 0: written without a group

  std::string Text() const;
  // Returns null if `text` is not exactly such a name.
  static std::optional<CheckpointName> Parse(std::string_view text);
  // Returns whether a reader prefers it to `other`.
  bool IsNewerThan(const CheckpointName& other) const {
    return std::pair(term, step) > std::pair(other.term, other.step);
  }
};

// Takes DIRECTORY, which is created if it is missing, for `owner`, and returns the term. If the
// owner has the directory already, it is the same term as before; otherwise no commit of an earlier
// term succeeds after this returns. FAILED_PRECONDITION if a later epoch of the job, or a job that
// came after this epoch, has the directory. Without an owner, returns the term of the last owner.
Result<uint64_t> TakeTerm(const std::string& directory,
                          const std::optional<CheckpointOwner>& owner);

// FAILED_PRECONDITION if DIRECTORY has a later term than this one, which `owner` took.
Status CheckTerm(const std::string& directory, uint64_t term,
                 const std::optional<CheckpointOwner>& owner);

// Removes a folder. It is renamed first, so that a process which writes into it cannot complete it,
// and a crash does not leave a part of it under its name.
Status RemoveAside(const std::string& path);

// Removes unfinished checkpoints and terms: those of earlier terms than this one, whose writers
// notice it, and of this one what a crash has left.
void RemoveUnfinished(const std::string& directory, uint64_t term);

}  // namespace hr::train
