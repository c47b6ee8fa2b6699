// Processes of one program on this machine, watched together: their output line by line, signals
// passed on, and what ends them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace headrace::tool {

// The environment of one rank: NAME=VALUE that replace those of this process.
using RankVariables = std::function<std::vector<std::string>(int rank)>;

struct RankFailure {
  int rank = -1;
  std::string cause;   // such as "rank 1 failed with exit status 2"; empty if none has failed
  double seconds = 0;  // after its start
};

struct RanksEnd {
  int status = 0;       // for the exit of this program: of the first that failed, or 128 + signal
  RankFailure failure;  // of the first
  bool asked = false;   // the user has asked for the end, in this Watch or an earlier one
};

// Told of a rank that has failed; returns whether the others go on without it. It may start another
// process in its place.
using Survive = std::function<bool(const RankFailure& failure)>;

// What the others have when one rank has failed.
struct Patience {
  std::chrono::milliseconds alone;  // to end by themselves, before they are asked to (SIGTERM)
  std::chrono::milliseconds asked;  // and then before they are killed
};

class LocalRanks {
 public:
  // `prefixes`: what the ranks write is printed by the line, each with its rank before it. Without,
  // it is printed as it is.
  explicit LocalRanks(bool prefixes);
  // Kills what still runs.
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  // Starts `count` processes, and before that kills what those of an earlier start have left
  // running. Throws Failure, with none left, if one cannot be started.
  void Start(const std::vector<std::string>& program, int count, const RankVariables& variables);
  // Starts another process in the place of a rank that has failed, and kills what that one has left
  // running.
  void Replace(const std::vector<std::string>& program, int rank,
               const std::vector<std::string>& variables);
  // Prints what they write, passes signals on, and returns when all have ended. A line names a rank
  // that is stopped (SIGSTOP). With `survive`, such ranks are killed once the others have ended
  // well: these have gone on without them. Otherwise a line says that they are all that is waited
  // for.
  RanksEnd Watch(const Patience& patience, const Survive& survive = nullptr);
  int running() const;
  // Whether a rank has ended with status 0.
  bool any_ended_well() const { return ended_well_; }

 private:
  struct Stream {
    int fd = -1;
    std::string line;  // begun
  };
  struct Rank {
    pid_t pid = -1;
    bool running = false;    // if not, it has ended, and keeps its id until Clear
    bool discarded = false;  // killed because the others are done without it
    bool stopped = false;    // and a line has said so
    std::chrono::steady_clock::time_point started_at;
    Stream out, err;
  };

  void StartAll(const std::vector<std::string>& program, int count, const RankVariables& variables);
  void StartOne(const std::vector<std::string>& program, Rank& started,
                const std::vector<std::string>& variables);
  void Clear(bool descendants_too);
  static void Forget(Rank& rank, bool descendants_too);
  void SendAll(int signal);
  void PassOn(const Rank& rank, Stream& stream, int to);
  void Flush(const Rank& rank, Stream& stream, int to);
  void TakeSignal();
  void Reap();
  void Note(const Rank& rank, bool killed, int code);
  void LookForStopped();
  void LookForFrozen();
  void TellOfFrozen();
  std::string StoppedText(const Rank& rank) const;
  void Hurry(const Patience& patience);
  bool AnyRuns() const { return running() != 0; }
  bool Wait();
  std::string Prefix(const Rank& rank) const;

  const bool prefixes_;
  std::vector<Rank> ranks_;
  int signals_ = -1;  // readable when one has come for this process, or a rank has ended
  int asked_ = 0;     // signals of the user that were passed on
  RanksEnd end_;
  bool failed_ = false;
  bool ended_well_ = false;
  bool told_of_frozen_ = false;
  bool child_changed_ = false;  // since LookForStopped
  Survive survive_;
  int stage_ = 0;  // of Hurry
  std::chrono::steady_clock::time_point next_stage_;
};

}  // namespace headrace::tool
