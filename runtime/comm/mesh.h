// A mesh joins what a group and its sub-groups share: the connections to all other ranks (Peers),
// the operations in flight over them (Operations), the watch over the ranks (PeerWatch), and
// whether the group lives (Verdicts). Each sub-group has a channel of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/function_ref.h"
#include "runtime/comm/flight_recorder.h"
#include "runtime/comm/meeting.h"
#include "runtime/comm/mesh_options.h"
#include "runtime/comm/operations.h"
#include "runtime/comm/peer_watch.h"
#include "runtime/comm/peers.h"
#include "runtime/comm/reactor.h"
#include "runtime/comm/verdicts.h"

namespace hr::comm {

// Thread-safe.
class Mesh final : private ReactorClient, private Verdicts::Listener {
 public:
  // Connects to the other ranks; see Meeting.
  static Result<std::shared_ptr<Mesh>> Form(MeshOptions options, const CallLimits& limits);
  ~Mesh() override;

  const MeshOptions& options() const { return options_; }
  // Returns OK, or the verdict that has ended the group as a status.
  Status status();
  // Returns what has ended the group, as far as this rank knows; null while it has not ended.
  std::optional<Verdict> verdict();
  // Returns the ranks that were silent when the group ended, or whose connections have broken.
  std::vector<int> suspects();
  // Starts `work`, which has not been started before. `attended`: the caller waits for it at once.
  Status Start(const WorkRef& work, bool attended);
  // Sends or receives a short message at once if that needs no waiting. They return false if
  // nothing has happened. `complete` is called with the mesh locked; if it returns false, the
  // message is not sent.
  bool SendNow(const ShortMessage& message, FunctionRef<bool()> complete, const void* data);
  bool RecvNow(const ShortMessage& message, void* data);
  // Drives the mesh, and guards what the following two contain.
  Reactor& reactor() { return reactor_; }
  Operations& operations() { return operations_; }
  PeerWatch& watch() { return watch_; }
  // Calls the callbacks that are due. Called unlocked.
  void Deliver() override { operations_.Deliver(); }
  // Ends the group for all ranks, with `culprit` as the rank to blame. Does not wait.
  void Abort(Code code, std::string cause, int culprit);
  // Closes the connections to all peers in order; operations in flight end with CANCELLED.
  void Close();
  std::string RecorderJson();
  // Returns the name of the transport that connects to a rank.
  std::string TransportOf(int rank) const;
  // Returns what shares memory with all of `ranks` and this one; null if nothing can.
  MemorySharer* SharerOf(const std::vector<int>& ranks) const;

 private:
  Mesh(MeshOptions options, Met met);

  // ReactorClient.
  bool Advance(bool moved) override;
  bool Arm() override { return operations_.Arm(); }
  int64_t OnTimer(int64_t now) override;
  // Verdicts::Listener.
  void OnEnded(const Status& status) override;

  void Hear();
  void OnControl(int rank, std::string_view text);
  void AwaitVerdict();
  // Drives until `pending` is false or `give_up`, with pauses while nothing moves.
  void DriveWhile(FunctionRef<bool()> pending, int64_t give_up);
  std::string DumpPath(std::string_view extension) const;
  void LogMembers();
  void Report();
  void DropRecorderFile();

  const MeshOptions options_;
  const std::string complete_;  // what is told to those who come now
  PublishedAddress address_;
  const std::unique_ptr<Peers> peers_;
  FlightRecorder recorder_;
  bool report_due_ = false;
  Verdicts verdicts_;
  PeerWatch watch_;
  Operations operations_;
  Reactor reactor_;  // last: it stops driving before the rest goes
};

}  // namespace hr::comm
