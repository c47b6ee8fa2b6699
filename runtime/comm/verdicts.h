// How all ranks come to one verdict: whoever sees a fault accuses, the arbiter makes the first
// accusation the verdict, and the accuser tells all ranks (V).
//
// A rank that cannot reach the arbiter tells the others so, with its accusation (L), and waits a
// moment. One that can asks it then, and that verdict holds. If nobody can, the group ends with
// ARBITER_LOST and the sentence of the lowest rank that has told, which all take over (U).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/arbiter.h"
#include "runtime/comm/mesh_options.h"
#include "runtime/comm/peers.h"
#include "runtime/comm/reactor.h"

namespace hr::comm {

// Whether a mesh lives, and why it has ended. Serialised by the mesh's reactor.
class Verdicts {
 public:
  class Listener {
   public:
    // The group has ended with this status, and the peers have been told. Called once, unless the
    // group is closed before.
    virtual void OnEnded(const Status& status) = 0;

   protected:
    ~Listener() = default;
  };

  // All of them outlive it.
  Verdicts(const MeshOptions& options, Peers& peers, Reactor& reactor, Listener& listener);

  // Returns whether the group has neither ended nor been closed by this rank.
  bool live() const { return status_.ok() && !closed_; }
  bool closed() const { return closed_; }
  // Returns OK, or the verdict that has ended the group as a status.
  const Status& status() const { return status_; }
  // Returns what has ended the group, as far as this rank knows; null while it has not ended.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  // Returns whether there is an accusation and no verdict yet.
  bool pending() const { return accused_ && live(); }

  // Asks soon for a verdict. Only a rank's first accusation counts.
  void Accuse(Verdict accusation);
  // Handles a control message of the kinds V, L and U.
  void OnControl(int rank, std::string_view text);
  // Nothing comes from the rank any more, and all that came was handled.
  void OnHeardOut(int rank);
  // Does what is due, and returns when to be called again.
  int64_t OnTimer(int64_t now);

  // Gives up the question to the arbiter. Called unlocked, before Close().
  void StopAsking();
  // From now on no verdict counts. Returns false if it was closed before.
  bool Close() { return !std::exchange(closed_, true); }

 private:
  // Who waits for the arbiter's answer; null once nobody does.
  struct Asker {
    std::mutex mutex;
    Verdicts* verdicts = nullptr;
  };

  void Ask(const Verdict& accusation, int64_t now);
  void OnAnswer(const Result<Verdict>& answer);
  void EndQuestion(int64_t now);
  void Convict(const Verdict& verdict, std::string_view lost = "");
  void TellArbiterLost(const Verdict& accusation, std::string_view why);
  void OnArbiterLost(int rank, std::string_view text);
  void EndTogether(int64_t now);
  void ConvictTogether(std::string_view text);

  const MeshOptions& options_;
  Peers& peers_;
  Reactor& reactor_;
  Listener& listener_;
  const std::shared_ptr<Arbiter> arbiter_;

  Status status_;
  std::optional<Verdict> verdict_;
  bool closed_ = false;
  std::optional<Verdict> accusation_;
  bool accused_ = false;
  // What the arbiter has been asked, and when it must have answered.
  std::optional<Verdict> asked_;
  int64_t answer_by_ = 0;
  const std::shared_ptr<Asker> asker_ = std::make_shared<Asker>();
  // The report of the lowest rank that has lost the arbiter; empty: none has.
  std::string undecided_;
  int undecided_of_ = 0;
  int64_t together_at_ = 0;         // until then the reports of the others are awaited
  std::vector<bool> lost_arbiter_;  // by rank: it has reported that; also this one
  std::vector<bool> heard_out_;     // by rank
};

}  // namespace hr::comm
