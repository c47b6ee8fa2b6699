// The fast path: names resolved once, memory bound once, then run many times. A run with unchanged
// shapes allocates nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session/input_source.h"
#include "runtime/session/session.h"

namespace hr::session {

// Used by one thread at a time; several calls of one session may run at once.
class Call {
 public:
  // The signature's inputs and outputs, by their names there.
  static Result<std::unique_ptr<Call>> Create(std::shared_ptr<Session> session,
                                              std::string_view signature);
  // Any values as inputs and outputs, nodes as targets.
  static Result<std::unique_ptr<Call>> Create(std::shared_ptr<Session> session,
                                              std::span<const std::string> feeds,
                                              std::span<const std::string> fetches,
                                              std::span<const std::string> targets);

  // The input from now on. Contiguous CPU memory is used in place, other layouts are copied.
  Status Bind(std::string_view input, const Tensor& tensor);
  // A single number, converted to the input's type, in memory of the call.
  Status BindScalar(std::string_view input, double value);
  // Inputs with the names of the source are pulled from it before every run. The source must
  // outlive the call or be taken off with null.
  Status BindSource(std::shared_ptr<InputSource> source);
  // The output goes to the caller's memory, whose size must be what the output needs.
  Status BindOutput(std::string_view output, void* data, size_t bytes);

  // OUT_OF_RANGE where a bound source has no more data: then nothing was run.
  Status Run(const CallLimits& limits);

  // A failure while a run that was started goes on: the call is that run's.
  Status CheckIdle() const {
    return in_flight_.load(std::memory_order_acquire) ? InFlight() : Status();
  }
  // False where a started run goes on already; EndFlight ends it.
  bool BeginFlight() { return !in_flight_.exchange(true, std::memory_order_acq_rel); }
  void EndFlight() { in_flight_.store(false, std::memory_order_release); }
  static Status InFlight();

  // The output of the last run, in memory that the next run overwrites.
  Result<Tensor> Output(std::string_view output) const;

  // The size of the first dimension of what the source gave to the last run.
  int64_t PulledExamples() const;

  Session& session() const { return *session_; }
  // The plan for the bound shapes, compiled where necessary.
  Result<PlanAt> PreparePlan();

 private:
  struct Input {
    std::string name;
    graph::ValueId value;
    Tensor tensor;
    Tensor scalar;  // where BindScalar puts numbers
  };
  struct OutputPort {
    std::string name;
    void* host = nullptr;  // the caller's memory, where it gave any
    size_t host_bytes = 0;
    Tensor own;
  };

  explicit Call(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  Result<Input*> FindInput(std::string_view name);
  Result<size_t> FindOutput(std::string_view name) const;
  Status BindInput(Input& input, const Tensor& tensor);
  Status PullSource(const CallLimits& limits);
  void CollectFeeds();
  // Compiles and instantiates for the inputs' shapes, and binds everything. Allocates nothing where
  // the plan at hand has met the shapes before.
  Status Prepare();
  Status TakeInstance();
  Status BindOutputs();
  Status FitOutput(const ConcreteType& most, const ConcreteType& type, OutputPort& output);

  std::shared_ptr<Session> session_;
  std::vector<Input> inputs_;
  std::vector<OutputPort> outputs_;
  transform::Request request_;  // its feeds as of the last CollectFeeds
  std::shared_ptr<InputSource> source_;
  std::vector<Tensor> pulled_;
  std::vector<Input*> pulled_inputs_;  // null where nobody takes the field
  Instance instance_;                  // of the plan for these shapes; none before the first run
  std::atomic<bool> in_flight_{false};
  bool shapes_changed_ = true;
  uint64_t bound_generation_ = 0;
};

}  // namespace hr::session
