// The watch over the peers of a mesh: silence, loss, disagreement. It accuses those at fault. See
// verdicts.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/comm/operations.h"
#include "runtime/comm/verdicts.h"

namespace hr::comm {

// Serialised by the mesh's reactor.
class PeerWatch final : public Operations::Faults {
 public:
  // All of them outlive it, but for `operations`, which must not be used before it is made.
  // `beaten_at`: when the last heartbeat was sent.
  PeerWatch(const MeshOptions& options, Peers& peers, Operations& operations,
            FlightRecorder& recorder, Verdicts& verdicts, int64_t beaten_at);

  void OnPeerFailed(int rank, const Status& status) override;
  void OnMismatch(const Work& work, int rank, uint64_t label) override;
  // Handles a control message of the kinds S, "I am stuck in this operation", and P, its answer,
  // how many operations the other rank has called; Q and A, the question and the answer about a
  // message that is of another operation.
  void OnControl(int rank, std::string_view text);
  // This rank ends an operation early that the others have to go through with.
  void OnGivenUp(const Work& work, Code why);
  // Does what is due, and returns when to be called again.
  int64_t OnTimer(int64_t now);

  // The group has ended: notes who was silent then.
  void NoteSuspects();
  // Returns the ranks that were silent when the group ended, or whose connections have broken.
  std::vector<int> Suspects() const;

 private:
  struct Peer {
    uint64_t arrivals = 0;  // as last seen
    int64_t heard_at = 0;
    // A channel, and how many of its operations the peer has called, as it last reported.
    uint16_t channel = 0;
    std::optional<uint64_t> called;
  };

  void AnswerMismatch(int rank, std::string_view question);
  void BlameMismatch(int rank, std::string_view answer);
  void AccuseMismatch(int rank, std::string_view theirs, std::string_view ours);
  void AccuseLate(const Work& work);
  void TellOfStuck(int64_t now);
  void OnStuck(int rank, std::string_view told);
  void OnProgress(int rank, std::string_view told);
  bool IsStray(uint64_t tag) const;
  void LookForStrays();
  void Beat(int64_t now);

  const MeshOptions& options_;
  Peers& connections_;
  Operations& operations_;
  FlightRecorder& recorder_;
  Verdicts& verdicts_;
  std::vector<Peer> peers_;  // by rank
  int64_t beaten_at_;
  std::vector<int> suspects_;
};

}  // namespace hr::comm
