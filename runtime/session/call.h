// The fast path: names resolved once, memory bound once, then run many times. A run with unchanged
// shapes allocates nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session/input_source.h"
#include "runtime/session/profile.h"
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
  // Runs need the input no more, or fail.
  Status Unbind(std::string_view input);
  // A single number, converted to the input's type, in memory of the call.
  Status BindScalar(std::string_view input, double value);
  // Inputs with the names of the source are pulled from it before every run. The source must
  // outlive the call or be taken off with null.
  Status BindSource(std::shared_ptr<InputSource> source);
  // The output goes to the caller's memory, whose size must be what the output needs; null: to
  // memory of the call again.
  Status BindOutput(std::string_view output, void* data, size_t bytes);
  // The output goes to the tensor, whose type must be the output's.
  Status BindOutput(std::string_view output, const Tensor& tensor);

  // OUT_OF_RANGE where a bound source has no more data: then nothing was run. `profile` notes what
  // the run does, where there is one.
  Status Run(const CallLimits& limits, Profile* profile = nullptr);

  // Takes the call for a thread, or for a run that was started. Returns false if it is taken;
  // Leave() ends it. Everything else takes it for granted that the caller has it.
  bool Take() { return !taken_.exchange(true, std::memory_order_acquire); }
  void Leave() { taken_.store(false, std::memory_order_release); }
  static Status Taken();

  // The output of the last run, in memory that the next run overwrites.
  Result<Tensor> Output(std::string_view output) const;
  // The same; the next run has other memory.
  Result<Tensor> TakeOutput(std::string_view output);
  // What the output is for the inputs that are bound now. Valid until the call is used again.
  Result<const ConcreteType*> TypeOfOutput(std::string_view output);

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
    Tensor given;  // the caller's tensor, if that is where the memory is
    Tensor own;
    ConcreteType staged_type;  // of the last run, if it depends on data
  };

  explicit Call(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  Result<Input*> FindInput(std::string_view name);
  Result<size_t> FindOutput(std::string_view name) const;
  Status BindInput(Input& input, const Tensor& tensor);
  Status PullSource(const CallLimits& limits);
  void CollectFeeds();
  // Compiles and instantiates for the inputs' shapes, and binds everything. Allocates nothing where
  // the plan at hand has met the shapes before.
  // What Run does, without telling other ranks of a failure.
  Status RunBound(const CallLimits& limits, Profile* profile);
  Status Prepare();
  Status TakeInstance();
  Status BindOutputs();
  // Runs a plan that has stages.
  Status RunStages(const Lease& threads, const CallLimits& limits, Profile* profile);
  Status TakeStagedOutputs(std::vector<Tensor> outputs);
  // Whether the memory that the caller gave for an output is of that type and size.
  static Status CheckGiven(const OutputPort& output, const ConcreteType& type);
  Status FitOutput(const ConcreteType& most, const ConcreteType& type, OutputPort& output);
  Status SetOutput(size_t i, void* data, size_t bytes, Tensor given);

  std::shared_ptr<Session> session_;
  std::vector<Input> inputs_;
  std::vector<OutputPort> outputs_;
  transform::Request request_;  // its feeds as of the last CollectFeeds
  std::shared_ptr<InputSource> source_;
  std::vector<Tensor> pulled_;
  std::vector<Input*> pulled_inputs_;  // null where nobody takes the field
  Instance instance_;                  // of the plan for these shapes; none before the first run
  std::shared_ptr<Plan> staged_;       // instead, if the plan has stages
  std::atomic<bool> taken_{false};
  bool shapes_changed_ = true;
  bool outputs_changed_ = false;  // those of the instance are to be bound again
  PlanAt asked_;                  // by TypeOfOutput
  uint64_t bound_generation_ = 0;
};

}  // namespace hr::session
