// Runs programs in sessions: one place for the session's options.
#pragma once

#include <map>

#include "runtime/session/call.h"
#include "runtime/session/session.h"
#include "tests/conformance/random_graphs/program.h"

namespace hr::random_graphs {

// Everything that a run gives and that the reference judges.
struct Results {
  std::vector<std::vector<Tensor>> outputs;  // by step and fetch
  std::vector<Tensor> variables;             // after the last step
  uint64_t Hash() const;
};
// Where two results differ in a bit; "" where they do not.
std::string BitDifference(const Results& a, const Results& b);

struct Feed {
  std::string name;
  Tensor tensor;
};
std::vector<Feed> FeedsOf(const Program& program, int64_t batch = 0);

// With the CPU backend, and as many threads.
std::shared_ptr<session::Env> MakeEnv(int threads);

// A session of a module with the signature "run".
class Runner {
 public:
  static Result<Runner> Create(const std::shared_ptr<session::Env>& env, graph::Module module,
                               bool fuse, size_t memory_limit = 0);
  Result<Results> Run(const std::vector<Feed>& feeds, int steps);
  // The values of these names in the first steps of a new session: a graph that is run with its
  // inner values fetched.
  Result<std::vector<std::vector<Tensor>>> Fetch(const std::vector<Feed>& feeds, int steps,
                                                 const std::vector<std::string>& names);

 private:
  std::shared_ptr<session::Session> session_;
  std::unique_ptr<session::Call> call_;
};

}  // namespace hr::random_graphs
