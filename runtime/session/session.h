// One set of variables and the plans compiled against it.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/function_ref.h"
#include "runtime/session/plan.h"
#include "runtime/session/run_lock.h"
#include "runtime/session/session_groups.h"
#include "runtime/session/variable_store.h"

namespace hr::session {

struct SessionOptions {
  uint64_t seed = 0;
  size_t max_plans = 64;  // the least recently used beyond these are dropped
  PlanOptions plan;
};

// What a run needs: its plan, at its size.
struct PlanAt {
  std::shared_ptr<Plan> plan;
  std::shared_ptr<const PlanSize> size;
};

// What a run holds from its beginning to its end.
struct Admission {
  RunGuard lock;
  Lease threads;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Thread-safe. Reading runs go in parallel; a run that writes variables excludes the others.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // Computes the variables' initial values.
  static Result<std::shared_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options,
                                                 const CallLimits& limits = {});

  // One that was replaced (Redivide) stays as long as the session.
  const Model& model() const { return *model_.load(std::memory_order_acquire); }
  Env& env() const { return model().env(); }

  // The plan for a request, compiled where it is not cached.
  Result<PlanAt> Prepare(const transform::Request& request);

  // Runs once: any values as feeds and fetches, nodes as targets. Outputs are new tensors.
  Result<std::vector<Tensor>> Run(std::span<const NamedTensor> feeds,
                                  std::span<const std::string> fetches,
                                  std::span<const std::string> targets, const CallLimits& limits);

  // Copies, consistent with each other only where no writing run goes on in between.
  Result<Tensor> GetVariable(uint32_t variable, const CallLimits& limits);
  Status SetVariable(uint32_t variable, const Tensor& value, const CallLimits& limits);
  // Calls `body` with all variables while no run writes them.
  Status ReadVariables(const CallLimits& limits,
                       const std::function<Status(const VariableStore&, int64_t step)>& body);
  // Calls `body` while no run goes on; on success the session is no longer tainted. A body that
  // fails must not have changed a value.
  Status RestoreVariables(
      const CallLimits& limits,
      const std::function<Status(VariableStore&, int64_t* step, uint64_t* seed)>& body);

  // Nodes that name this group communicate in it from now on; null: in none. Waits until no run
  // goes on. NOT_FOUND if no node of the model names it.
  Status BindGroup(std::string_view name, std::shared_ptr<comm::Collectives> group,
                   const CallLimits& limits);

  // The group bound by this name; it ends with the session, or when another takes its place. For
  // operations between runs, by the thread that makes these. FAILED_PRECONDITION if none is bound.
  Result<std::shared_ptr<comm::Collectives>> FindGroup(std::string_view name);
  // Gives all variables, and the step and the seed, the values of the rank `root` of a bound group;
  // kFurthest: of the one with the most steps whose session is not tainted, the lowest of these.
  // All ranks call it. Returns the root. A failure leaves the session as it was; TAINTED on all
  // ranks if there is no such rank.
  static constexpr int kFurthest = -1;
  Result<int> Broadcast(std::string_view group, int root, const CallLimits& limits);

  // Goes on with the same graph for so many ranks of the group: variables that these divide
  // (graph/shards.h) have other sizes and begin anew, everything else stays. Waits until no run
  // goes on. A failure leaves the session as it was.
  Status Redivide(std::string_view group, int64_t ranks, const CallLimits& limits);

  // Ends the groups in which a run of `request` communicates, because this rank's has failed,
  // perhaps before it began: the others wait for it. Nothing happens if the limits of the run or
  // its data have ended, or if no node communicates.
  void TellRanks(const transform::Request& request, const Status& failure);

  uint64_t seed() const { return seed_.load(std::memory_order_relaxed); }
  int64_t step() const { return step_.load(std::memory_order_relaxed); }
  // An update failed half-way: only a restore makes the session usable again.
  bool tainted() const { return tainted_.load(std::memory_order_acquire); }

  // Frees working memory that no run uses, and instances of cached plans that no call uses.
  void Trim();
  // No new runs; those in flight finish. Handles stay valid. The plans go with their last users.
  void Close();

  // Variables, cached plans and memory, as JSON.
  std::string Describe();

 private:
  friend class Call;
  friend class StagedRun;
  explicit Session(std::shared_ptr<const Model> model, const SessionOptions& options);
  Status InitializeVariables(const CallLimits& limits);
  Result<Tensor> InitialValue(const graph::Variable& variable, const CallLimits& limits);
  Result<int> FindFurthest(comm::Collectives& group, const CallLimits& limits) const;
  Status SendValues(comm::Collectives& group, int root, const CallLimits& limits);
  Status ReceiveValues(comm::Collectives& group, int root, const CallLimits& limits);
  Status CheckUsable() const;
  // The run lock, for `what`. In a function of the host inside a run of this session a failure,
  // where it would have to wait for that run.
  Result<RunGuard> Lock(Literal what, bool exclusive, const CallLimits& limits);
  Result<RunGuard> LockAmongOthers(Literal what, bool exclusive, const CallLimits& limits);
  // What a run needs, besides its plan, to begin. Nothing of it is held while the rest is waited
  // for.
  Status Admit(bool exclusive, const CallLimits& limits, Admission* out);
  // Binds the plan's variables; the caller holds the run lock exclusively where the plan writes.
  Status BindVariables(const Plan& plan, Invocation& invocation);
  // A run of a plan, between the two; the caller holds the run lock. `update_begun` outlives it.
  RunContext BeginRun(const Plan& plan, const Lease& threads, const CallLimits& limits,
                      bool* update_begun, RunRecorder* recorder);
  Status EndRun(const Plan& plan, const RunContext& run, Status status);
  // Runs a bound invocation; the caller holds the run lock.
  Status RunLocked(const Plan& plan, Invocation& invocation, const Lease& threads,
                   const CallLimits& limits, RunRecorder* recorder = nullptr);
  // Runs a plan that has stages, and returns its outputs; the caller holds the run lock.
  Result<std::vector<Tensor>> RunStages(
      const Plan& plan, std::span<const Tensor> inputs, const Lease& threads,
      const CallLimits& limits, FunctionRef<Status(size_t, const ConcreteType&)> check_output,
      RunRecorder* recorder = nullptr);

  // FAILED_PRECONDITION if the model divides variables among another number of the group's ranks.
  Status CheckDivided(std::string_view group, int64_t ranks) const;
  // The model for so many ranks of the group, which is made if there is none yet.
  Result<const Model*> ModelFor(std::string_view group, int64_t ranks);

  struct CachedPlan {
    std::string key;
    std::shared_ptr<Plan> plan;
  };
  // Whether this session may run the plan: it is of the present model, and its variables are still
  // those of the sessions that share it.
  bool Fits(const Plan& plan) const {
    return plan.model() == &model() && (!plan.shared() || variables_.initial());
  }
  // Admits a run of the plan for a request.
  Status Enter(const transform::Request& request, const CallLimits& limits, PlanAt* at,
               Admission* out);
  Result<std::shared_ptr<Plan>> PlanFor(const transform::Request& request);
  // Null where none is cached.
  std::shared_ptr<Plan> FindPlan(std::string_view key);
  std::shared_ptr<Plan> FindPlanLocked(std::string_view key);
  // Compiles a plan, or takes what another session of the model has compiled, and caches it.
  Result<std::shared_ptr<Plan>> AddPlan(std::string key, const transform::Request& request,
                                        std::vector<transform::SizeRange> ranges);

  std::vector<std::shared_ptr<const Model>> models_;  // the present one, and all before it
  std::atomic<const Model*> model_;
  const SessionOptions options_;
  const bool has_ranges_;
  std::atomic<uint64_t> seed_;
  std::atomic<int64_t> step_{0};
  std::atomic<bool> tainted_{false};
  std::atomic<bool> closed_{false};
  RunLock run_lock_;
  VariableStore variables_;
  SessionGroups groups_;
  ArenaPool arenas_;  // of all plans
  std::mutex plans_mutex_;
  std::list<CachedPlan> plans_;  // most recently used first
};

}  // namespace hr::session
