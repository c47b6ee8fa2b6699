// Holds a program's runs against each other and against the reference.
#pragma once

#include "tests/conformance/random_graphs/expectation.h"

namespace hr::random_graphs {

// What a program failed: the name of a judge, and what it saw. No name: nothing.
struct Verdict {
  std::string judge;
  std::string detail;
  bool undefined = false;  // the reference overflows or has no answer: nothing was judged
  bool bounded = false;    // a bounded plan was judged, too
  int64_t judged = 0;      // elements
  int64_t open = 0;        // those that noise leaves open
  uint64_t hash = 0;       // of the fused results
  bool failed() const { return !judge.empty(); }
};

class Judge {
 public:
  Judge() : one_(MakeEnv(1)), two_(MakeEnv(2)) {}

  const ops::OpRegistry& operators() const { return one_->operators(); }
  // All judges but that of the new process, which takes many programs at once.
  Verdict Run(const Program& program);
  // See Expectation::Difference; fewer are quicker, and right where the error is large.
  void SetMostRuns(uint64_t most_runs) { most_runs_ = most_runs; }
  // The fused results' hash of a module from a file, as a new process has it.
  Result<uint64_t> HashOf(const Program& program, graph::Module module);

 private:
  friend class Trial;
  uint64_t most_runs_ = 60;
  std::shared_ptr<session::Env> one_;
  std::shared_ptr<session::Env> two_;
};

}  // namespace hr::random_graphs
