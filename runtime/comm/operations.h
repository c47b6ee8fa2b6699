// The operations in flight over the connections of a mesh: which of them can go on, and what is due
// when they end. Serialised by the mesh's reactor, except where it says otherwise.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/comm/flight_recorder.h"
#include "runtime/comm/peers.h"
#include "runtime/comm/reactor.h"
#include "runtime/comm/work.h"

namespace hr::comm {

// A message that is sent or received at once, without a work.
struct ShortMessage {
  const Operation& operation;
  uint16_t channel;
  uint64_t tag;
  int rank = 0;  // of the mesh
  uint64_t label = 0;
  size_t bytes = 0;
};

class Operations {
 public:
  // Told what operations see of the faults of peers.
  class Faults {
   public:
    // The connection to the rank has failed.
    virtual void OnPeerFailed(int rank, const Status& status) = 0;
    // The rank has called another operation, with this label, than `work`.
    virtual void OnMismatch(const Work& work, int rank, uint64_t label) = 0;

   protected:
    ~Faults() = default;
  };

  // All of them outlive it.
  Operations(Peers& peers, Reactor& reactor, FlightRecorder& recorder, Faults& faults);

  // Starts `work`, which has not been started before. `attended`: a thread waits for it at once.
  void Start(const WorkRef& work, bool attended);
  // Sends a message at once if that needs no waiting; see Endpoint::SendNow.
  bool SendNow(const ShortMessage& message, const void* data);
  // Notes what RecvNow is about to receive: before it comes, because somebody may wait for what
  // comes of it.
  void Expect(const ShortMessage& message) { Draft(message); }
  bool RecvNow(const ShortMessage& message, void* data);

  bool idle() const { return watched_.empty() && ready_.empty(); }
  bool any_ready() const { return !ready_.empty(); }
  // Lets operations go on that wait for ranks in shared memory. Returns whether any did.
  bool LookAtWatched();
  // Lets operations go on whose transfers have ended.
  void RunReady();
  // Asks to be woken by ranks in shared memory. Returns false if something can go on already.
  bool Arm();
  // Calls the callbacks that are due. Called unlocked, perhaps by several threads at a time.
  void Deliver();

  std::span<const WorkRef> active() const { return active_; }
  // Returns whether the message of a receive is being written to its memory; see Endpoint.
  bool IsComing(const Work& work) const;
  // Ends an operation early: at once, or if a thread sums for it, when that is done. Its memory is
  // free then.
  void End(Work& work, const Status& status);
  void EndAll(const Status& status);

  // For works.
  Endpoint& endpoint(int rank) { return *peers_.endpoint(rank); }
  void Wake(int rank) { peers_.Wake(rank); }
  Faults& faults() { return faults_; }
  void OnTransferFailed(Work& work, Work::Part& part);
  // Enters a work into the list of those that can go on.
  void Ready(Work& work);
  // Calls `compute` with the reactor unlocked. Returns false if the work is to end now.
  bool ComputeUnlocked(Work& work, FunctionRef<void()> compute);

 private:
  void Draft(const ShortMessage& message);
  void Record(Work& work);
  bool RunOn(Work& work);
  void NoteGone(const Work& work);
  void EndTransfers(Work& work);
  void Finish(Work& work, Status status);

  Peers& peers_;
  Reactor& reactor_;
  FlightRecorder& recorder_;
  Faults& faults_;

  std::vector<WorkRef> active_;
  std::vector<Work*> ready_;
  std::vector<Work*> watched_;  // those that wait for ranks in shared memory

  std::mutex ended_mutex_;
  std::vector<WorkRef> ended_;  // works whose callbacks are due
  std::atomic<bool> any_ended_{false};
};

}  // namespace hr::comm
