// A request compiled for concrete shapes, or for ranges of the sizes of named dimensions.
//
// The plan of ranges is compiled at their ends, which sizes its memory. At any other size within
// them only what depends on it is made: types, constants computed of shapes, kernels and their
// places in that memory (PlanSize). What the graph alone decides is done once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/session/instance.h"
#include "runtime/session/model.h"
#include "runtime/session/multi_device.h"
#include "runtime/session/plan_sizes.h"
#include "runtime/session/stages.h"
#include "runtime/transform/specialize.h"

namespace hr::session {

struct PlanOptions {
  bool fuse = true;
  bool deterministic = true;
  bool exact_sums = false;    // CompileOptions::exact_sums
  bool check_memory = false;  // CompileOptions::check_memory
  size_t memory_limit = 0;    // CompileOptions::memory_limit
  std::string pin;            // CompileOptions::pin
  std::string device;         // of nodes that name none; empty: the CPU
  bool only_host = false;     // whatever nodes say
  size_t max_sizes = 64;      // that a plan keeps beside the ends of its ranges
};

// Immutable but for its idle instances and sizes; shared by all the calls that need it.
// Thread-safe.
class Plan {
 public:
  // `ranges`: those of the request, whose feeds are at their ends; empty for exact shapes.
  static Result<std::shared_ptr<Plan>> Compile(const Model& model,
                                               const transform::Request& request,
                                               const PlanOptions& options,
                                               std::vector<transform::SizeRange> ranges = {});
  // The plan of a region: a specialized module, as transform::Specialize and MakeStage return it.
  static Result<std::shared_ptr<Plan>> OfRegion(std::shared_ptr<Env> env, graph::Module region,
                                                const PlanOptions& options);
  // Whether the session's plans may have ranges: not where nodes are placed on devices.
  static bool HasRanges(const Model& model, const PlanOptions& options);

  // The model that it was compiled for; null for a region.
  const Model* model() const { return model_; }
  // The size that it was compiled for.
  const PlanSize& full() const { return *full_; }
  const std::shared_ptr<const PlanSize>& shared_full() const { return full_; }
  // The stages that a run goes through, if it depends on data what there is to run: such a plan has
  // no executable of its own (StagedRun runs it), and its outputs' types are not known. Else null.
  StageTree* stages() const { return stages_.get(); }
  // Names of inputs and outputs, in their order.
  const graph::Signature& signature() const { return region_.signatures[0]; }
  // The plan at the request's size: null where it has not met it yet, or lost it. No allocation.
  std::shared_ptr<const PlanSize> Find(const std::vector<transform::Feed>& feeds);
  // The same, made where necessary. The request differs from the plan's in sizes within its ranges.
  Result<std::shared_ptr<const PlanSize>> At(const Model& model, const transform::Request& request);
  // Variables that the plan touches; those that it writes.
  const std::vector<uint32_t>& variables() const { return variables_; }
  const std::vector<uint32_t>& written() const { return written_; }
  bool writes_variables() const { return !written_.empty(); }
  // Writes some resource, so no other run of the session may go on beside it.
  bool exclusive() const { return exclusive_; }
  // Sessions whose variables are the model's own may share it, with all that it keeps of them.
  bool shareable() const { return !exclusive_ && multi_device_ == nullptr && stages_ == nullptr; }
  bool shared() const { return shared_; }
  // Where the plan wants the variable's memory; null for the host's.
  Device* device_of(uint32_t variable) const {
    return variable_devices_.empty() ? nullptr : variable_devices_[variable];
  }
  // Draws random numbers: then every run is a step.
  bool random() const { return random_; }

  uint32_t input_slot(size_t i) const { return static_cast<uint32_t>(i); }
  uint32_t constant_slot(size_t i) const { return first_constant_ + static_cast<uint32_t>(i); }
  uint32_t variable_slot(uint32_t variable) const { return first_variable_ + variable; }
  uint32_t output_slot(size_t i) const { return first_output_ + static_cast<uint32_t>(i); }

  // A new instance, at the size that the plan was compiled for, with its constants bound; see
  // Instance for those that are used again.
  Result<SizedInvocation> Instantiate() const;
  IdleInstances& idle() { return idle_; }
  // Whether its memory is for the ends of ranges, and so for more than a run may need.
  bool has_ranges() const { return !ranges_.empty(); }
  // Gives back memory that no run and no call uses, and all sizes but the one compiled for.
  void Trim();
  // With the steps at `size`.
  std::string Describe(const PlanSize& size) const;

 private:
  friend class SharedPlans;
  Plan(std::shared_ptr<Env> env, const PlanOptions& options,
       std::vector<transform::SizeRange> ranges);
  // Compiles the region, whose inputs have the types of `feeds`.
  Status CompileRegion(const PlanOptions& options, std::vector<transform::Feed> feeds);
  // Makes region_ what the request needs, or stages_ if that depends on data.
  Status DivideIntoStages(const Model& model, const transform::Request& request,
                          const PlanOptions& options);
  void NoteEffects();
  Result<std::unique_ptr<Executable>> CompileWith(const CompileOptions& compile,
                                                  const PlanOptions& options);
  void DescribeSizes(JsonWriter& json) const;
  void DescribeRegions(JsonWriter& json, const PlanSize& size) const;
  void DescribeOnlyRegion(JsonWriter& json, const PlanSize& size) const;
  void DescribePlacement(JsonWriter& json) const;

  const Model* model_ = nullptr;
  std::shared_ptr<Env> env_;  // outlives the executable
  graph::Module region_;      // the whole, where there are several; at the ends of the ranges
  const std::vector<transform::SizeRange> ranges_;
  transform::Recipe recipe_;  // of the region, where there are ranges
  std::string default_device_;
  std::vector<Device*> placement_;         // of the nodes; empty where the CPU runs all
  std::vector<Device*> variable_devices_;  // null: the host; empty where all are there
  std::shared_ptr<const PlanSize> full_;
  std::unique_ptr<StageCompiler> stage_compiler_;  // outlives the stages
  std::unique_ptr<StageTree> stages_;
  const MultiDeviceExecutable* multi_device_ =
      nullptr;       // the executable, where it has several regions
  PlanSizes sizes_;  // all but the full one
  IdleInstances idle_;
  std::vector<uint32_t> variables_;
  std::vector<uint32_t> written_;
  bool random_ = false;
  bool exclusive_ = false;
  bool shared_ = false;
  uint32_t first_constant_ = 0;
  uint32_t first_variable_ = 0;
  uint32_t first_output_ = 0;
};

}  // namespace hr::session
