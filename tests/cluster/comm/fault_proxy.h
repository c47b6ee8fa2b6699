// Stands between the ranks of a test and does to their TCP connections what networks do.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/wake_event.h"

namespace hr::comm {

enum class NetFault {
  kNone,
  kPieces,     // bytes come in pieces of any size
  kDelay,      // they come a little later
  kReset,      // connections are reset, and no new one is made
  kBlackHole,  // nothing comes through any more, and nobody is told
  kCorrupt,    // a bit is different, once
};

class FaultProxy {
 public:
  FaultProxy();
  ~FaultProxy();

  // Where rank `from` dials to reach rank `to`, which listens at `address` ("tcp:127.0.0.1:PORT").
  std::string Route(int from, int to, const std::string& address);
  // From now on, for all connections of this rank.
  void Strike(int rank, NetFault fault);
  // The same for those to come.
  void StrikeNew(int rank, NetFault fault);

 private:
  struct Way {  // a listener for one pair of ranks
    Descriptor listener;
    std::string own, target;
    int from, to;
    std::atomic<NetFault> fault{NetFault::kNone};
  };
  struct Flow {  // one direction
    std::string bytes;
    int64_t due = 0;
  };
  struct Link {
    Way* way;
    Descriptor ends[2];
    Flow flows[2];  // from end i
    bool over = false, corrupted = false;
  };
  void Run();
  void Accept(Way& way);
  bool Carry(Link& link, int from);

  WakeEvent wake_;
  std::mutex mutex_;  // ways_
  std::list<Way> ways_;
  int struck_ = -1;  // the rank whose new ways have …
  NetFault new_fault_ = NetFault::kNone;
  std::list<Link> links_;
  std::mt19937 random_{7};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace hr::comm
