// How the ranks of a mesh meet: everybody publishes addresses in the store and connects to the
// ranks below, which answer with a welcome ("W") once they have taken the connection in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/wake_event.h"
#include "runtime/comm/arbiter.h"
#include "runtime/comm/mesh_options.h"
#include "runtime/comm/peers.h"

namespace hr::comm {

// The addresses of this rank in the store, as long as the object lives.
class PublishedAddress {
 public:
  PublishedAddress() = default;
  // ALREADY_EXISTS if another process has published addresses of this rank.
  static Result<PublishedAddress> Of(const MeshOptions& options, const std::string& addresses,
                                     const CallLimits& limits);
  PublishedAddress(PublishedAddress&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), key_(std::move(other.key_)) {}
  PublishedAddress& operator=(PublishedAddress&& other) noexcept {
    std::swap(store_, other.store_);
    key_.swap(other.key_);
    return *this;
  }
  ~PublishedAddress() { TakeBack(); }

  static std::string Key(const MeshOptions& options, int rank);
  void TakeBack();

 private:
  Store* store_ = nullptr;
  std::string key_;
};

// What a rank has that has met the others.
struct Met {
  std::unique_ptr<Peers> peers;
  PublishedAddress address;
  WakeEvent wake;         // for the reactor, which so lacks no descriptor
  int64_t beaten_at = 0;  // the time of the last heartbeat
};

class Meeting {
 public:
  // Connects to the other ranks, which it finds through the store, within `limits`. ALREADY_EXISTS
  // if another process has this rank. A rank that cannot go on accuses, so that the others need not
  // wait for it: all get one verdict.
  static Result<Met> Hold(const MeshOptions& options, const CallLimits& limits);

 private:
  // What is known of a rank that has not been met.
  struct Expected {
    bool welcome = false;  // the peer has accepted this process as a rank
    // The address that did not answer, why, and since when.
    std::string stale, trouble;
    int64_t stale_since = 0;
    uint64_t arrivals = 0;  // on its connection, as last seen
    int64_t heard_at = 0;
  };

  explicit Meeting(const MeshOptions& options);
  Status CheckFresh(const CallLimits& limits);
  Result<Met> Meet(const CallLimits& limits);
  Result<WakeEvent> MeetOrFail(const CallLimits& limits);
  Status Explain(Status status);
  Status Listen();
  Status Publish(const CallLimits& limits);
  Status MeetAll(const CallLimits& limits);
  Status LookForEnd(const CallLimits& limits);
  Status LookForLosses();
  Status DialMissing(const CallLimits& limits);
  Status Dial(int rank, const std::string& addresses);
  void Admit(std::unique_ptr<Endpoint> endpoint, Transport& transport);
  Result<bool> MoveAll();
  void HearWelcomes();
  Status CheckConnections();
  Status CheckSilence();
  void NoteStale(int rank, const Status& why);
  void BeatWhileMeeting();
  void Sleep();
  bool CameTooLate();
  std::string Identity(int rank) const;
  std::vector<int> Missing() const;
  std::string Strangers() const;

  const MeshOptions& options_;
  const std::unique_ptr<Arbiter> arbiter_;
  std::unique_ptr<Peers> peers_;
  std::vector<Expected> expected_;  // by rank
  PublishedAddress address_;
  Status ended_;            // by the verdict of another rank, or since the launcher has lost one
  int blamed_ = -1;         // the rank because of which the ranks failed to meet; -1: unknown
  int64_t look_at_ = 0;     // the next look for an end
  int64_t checked_at_ = 0;  // the time of the last look for silence
  int64_t beaten_at_ = 0;   // the time of the last heartbeat
};

}  // namespace hr::comm
