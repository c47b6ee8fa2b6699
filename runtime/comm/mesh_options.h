// What a mesh is made of, and the names of its keys in the store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/log.h"
#include "runtime/comm/losses.h"
#include "runtime/comm/store.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class Poller;

struct MeshOptions {
  std::string name = "world";  // of the group, in the store and in messages
  int rank = 0;
  int size = 1;
  uint64_t epoch = 0;
  uint64_t attempt = 0;  // to meet in this epoch; see EnterEpoch
  bool missed = false;   // this rank was absent from an attempt that failed; see EnterEpoch
  std::string job;       // see Membership
  bool agreed = false;   // the ranks agreed on epoch and members in the store; see Round
  // The file of a launcher whose jobs survive the loss of ranks, also before these have met; empty:
  // there is none. And what it said when this rank entered the epoch.
  std::string losses_file;
  Losses losses;
  // The processes of a launcher that join in this epoch, by rank.
  std::map<int, std::string> joiners;
  Store* store = nullptr;                    // outlives the mesh
  Poller* poller = nullptr;                  // outlives the mesh
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

}  // namespace hr::comm
