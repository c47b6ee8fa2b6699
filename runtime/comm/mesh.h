// The connections of a group: one endpoint to every other rank, the operations in flight over them,
// and the watch over the peers. Sub-groups share the mesh of the group they were split from, each
// with a channel of its own.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/comm/arbiter.h"
#include "runtime/comm/flight_recorder.h"
#include "runtime/comm/poller.h"
#include "runtime/comm/reactor.h"
#include "runtime/comm/work.h"

namespace hr::comm {

struct MeshOptions {
  std::string name = "world";  // of the group, in the store and in messages
  int rank = 0;
  int size = 1;
  uint64_t epoch = 0;
  uint64_t attempt = 0;      // to meet in this epoch; see EnterEpoch
  bool missed = false;       // this rank was absent from an attempt that failed; see EnterEpoch
  std::string job;           // see Membership
  bool agreed = false;       // the ranks agreed on epoch and members in the store; see Round
  Store* store = nullptr;    // outlives the mesh
  Poller* poller = nullptr;  // outlives the mesh
  std::vector<TransportFactory> transports;  // the first one that reaches a peer is used for it
  // A peer that sends nothing for so long counts as dead.
  int64_t silence_nanos = 10'000'000'000;
  // How long a waiting thread polls before it sleeps. 0: it yields its core between two looks.
  // Negative: 0 if more ranks run on this host than it has processors, else as long as a peer
  // usually takes to answer.
  int64_t spin_nanos = -1;
  // The timeout of waits that are given no limits; negative: none.
  int64_t timeout_nanos = 600'000'000'000;
  const Clock* clock = &SystemClock();  // of the limits that hosts give
  // The folder of the flight recorder: NAME-EPOCH-RANK.flight while the group lives, and .json when
  // it has failed. Empty: no files.
  std::string dump_folder;
  // Told that the group has met and why it ended; outlives the mesh. It must not wait.
  LogSink* log = nullptr;
  // Owns what the pointers above point to, as long as the mesh lives or asks the store: a question
  // to the arbiter goes on when the mesh is gone. Null: they outlive the poller's threads.
  std::shared_ptr<void> keeps;
};

// The keys of a group in the store: for all its epochs, and for this epoch.
std::string GroupKey(const MeshOptions& options, std::string_view what);
std::string EpochKey(const MeshOptions& options, std::string_view what);

class Mesh final : public ReactorClient, public std::enable_shared_from_this<Mesh> {
 public:
  // Connects to the other ranks, which it finds through the store, within `limits`. ALREADY_EXISTS
  // if another process has this rank.
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
  // Sends or receives a short message at once if that needs no waiting; see Endpoint::SendNow. They
  // return false if nothing has happened. `complete` is called with the mesh locked; if it returns
  // false, the message is not sent.
  struct Message {
    const Operation& operation;
    uint16_t channel;
    uint64_t tag;
    int rank = 0;  // of the mesh
    uint64_t label = 0;
    size_t bytes = 0;
  };
  bool SendNow(const Message& message, FunctionRef<bool()> complete, const void* data);
  bool RecvNow(const Message& message, void* data);
  // Keeps SendNow and RecvNow of other threads out while it lives.
  class Lock {
   public:
    explicit Lock(Mesh& mesh) : guard_(*mesh.reactor_) {}

   private:
    const Reactor::Guard guard_;
  };
  // The caller drives; see Reactor.
  void Visit() { reactor_->Visit(); }
  void set_spin_nanos(int64_t nanos) { reactor_->set_spin_nanos(nanos); }
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
  friend class Work;
  static constexpr uint64_t kControlTag = ~uint64_t{0};
  static constexpr size_t kControlBytes = 2048;

  // A rank of the mesh, other than this one.
  struct Peer {
    std::unique_ptr<Endpoint> endpoint;
    Transport* transport = nullptr;
    Transfer control;  // always posted, for the control messages of the peer
    std::byte control_text[kControlBytes];
    Transfer nudge;  // always the same message, so that waking a peer allocates nothing
    bool nudging = false;
    uint64_t arrivals = 0;  // as last seen
    int64_t heard_at = 0;
    bool welcome = false;  // the peer has accepted this process as a rank
    // While the ranks connect: the address that did not answer, why, and since when.
    std::string stale, trouble;
    int64_t stale_since = 0;
    // A channel, and how many of its operations the peer has called, as it last reported.
    uint16_t channel = 0;
    std::optional<uint64_t> called;
    bool lost_arbiter = false;  // it has reported that it lost the arbiter; also for this rank
    bool heard_out = false;     // nothing more comes from it, and all that came was handled
  };
  // Who waits for the arbiter's answer: the mesh, until it is closed.
  struct Asker {
    std::mutex mutex;
    Mesh* mesh = nullptr;
  };
  struct ControlMessage {
    Transfer transfer;
    std::string text;
    bool sent = false;
  };

  explicit Mesh(MeshOptions options) : options_(std::move(options)) { asker_->mesh = this; }

  // mesh_form.cc
  Status CheckFresh(const CallLimits& limits);
  Status Meet(const CallLimits& limits);
  bool CameTooLate(const CallLimits& limits);
  Status LookForVerdict(const CallLimits& limits);
  Status Listen();
  Status Publish(const CallLimits& limits);
  Status MeetAll(const CallLimits& limits);
  Status DialMissing(const CallLimits& limits);
  Status Dial(int rank, const std::string& addresses);
  void Admit(std::unique_ptr<Endpoint> endpoint, Transport& transport);
  Status CheckDialled();
  Status NoteStale(int rank, const Status& why);
  void HearWelcomes();
  void BeatWhileMeeting();
  Status CreateReactor();
  void TurnAway();
  std::string Key(std::string_view what) const { return EpochKey(options_, what); }
  std::string Identity(int rank) const;
  std::vector<int> Missing() const;
  std::string Strangers() const;
  void Unpublish();

  // ReactorClient.
  bool Advance(bool moved) override;
  bool Arm() override;
  void Deliver() override;
  int64_t OnTimer(int64_t now) override;

  // Work. All under the reactor's lock.
  void OnTransferFailed(Work& work, Work::Part& part);
  bool IsLive() const { return status_.ok() && !closed_; }
  void Record(Work& work);
  void Draft(const Message& message);
  void Ready(Work& work);
  void RunOn(Work& work);
  bool LookAtWatched();
  void NoteGone(const Work& work);
  void RunReady();
  void Finish(Work& work, Status status);
  void AwaitVerdict();
  // Drives until `pending` is false or `give_up`, with pauses while nothing moves.
  void DriveWhile(FunctionRef<bool()> pending, int64_t give_up);
  void EndTransfers(Work& work);
  // Returns whether the message of a receive is being written to its memory; see Endpoint.
  bool IsComing(const Work& work) const;

  // mesh_watch.cc: peers that fail or disagree.
  void LookForStrays();
  bool IsStray(uint64_t tag) const;
  void ListenTo(Peer& peer);
  void OnControl(int rank, std::string_view text);
  void OnPeerFailed(int rank, const Status& status);
  void OnMismatch(Work& work, int rank, uint64_t label);
  void Wake(int rank);
  void AnswerMismatch(int rank, std::string_view question);
  void BlameMismatch(int rank, std::string_view answer);
  void AccuseMismatch(int rank, std::string_view theirs, std::string_view ours);
  void AccuseLate(const Work& work);
  void OnStuck(int rank, std::string_view told);
  void OnProgress(int rank, std::string_view told);
  void TellOfStuck(int64_t now);
  void SendControl(int rank, std::string text);
  int64_t Watch(int64_t now);
  void Beat(int64_t now);
  // mesh_verdict.cc
  void Accuse(Verdict accusation);
  void Convict(const Verdict& verdict, std::string_view lost = "");
  void TellAll(const std::string& text);
  void TellArbiterLost(const Verdict& accusation, std::string_view why);
  void OnArbiterLost(int rank, std::string_view text);
  void EndTogether(int64_t now);
  void ConvictTogether(std::string_view text);
  Status EndedBy(const Verdict& verdict) const;
  void EndAll(const Status& status);
  void NoteSuspects();
  std::string DumpPath(std::string_view extension) const;
  void ReserveLists();
  void LogMembers();
  void AskArbiter(const Verdict& accusation, int64_t now);
  void OnAnswer(const Result<Verdict>& answer);
  void EndQuestion(int64_t now);
  void Report();
  void DropRecorderFile();
  int RankOf(const Peer& peer) const { return static_cast<int>(&peer - peers_.data()); }

  const MeshOptions options_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Peer> peers_;
  std::shared_ptr<Arbiter> arbiter_;

  std::vector<WorkRef> active_;
  std::vector<Work*> ready_;
  std::vector<Work*> watched_;  // those that wait for ranks in shared memory
  std::vector<int> heard_;      // ranks whose control receive ended
  std::list<ControlMessage> control_messages_;
  FlightRecorder recorder_;
  std::optional<Verdict> accusation_;
  bool accused_ = false;
  // What the arbiter has been asked, and when it must have answered.
  std::optional<Verdict> asked_;
  int64_t answer_by_ = 0;
  const std::shared_ptr<Asker> asker_ = std::make_shared<Asker>();
  // The report of the lowest rank that has lost the arbiter; empty: none has.
  std::string undecided_;
  int undecided_of_ = 0;
  int64_t together_at_ = 0;  // until then the reports of the others are awaited
  bool report_due_ = false;
  Status status_;
  std::optional<Verdict> verdict_;
  std::vector<int> suspects_;
  bool closed_ = false;
  bool published_ = false;
  int blamed_ = -1;        // the rank because of which the ranks failed to meet; -1: unknown
  int64_t look_at_ = 0;    // the next look for a verdict, while the ranks meet
  int64_t beaten_at_ = 0;  // the time of the last heartbeat
  std::list<std::unique_ptr<Endpoint>> turned_away_;

  std::mutex ended_mutex_;
  std::vector<WorkRef> ended_;  // works whose callbacks are due
  std::atomic<bool> any_ended_{false};

  std::unique_ptr<Reactor> reactor_;  // last: it stops driving before the rest goes
};

}  // namespace hr::comm
