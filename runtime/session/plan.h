// A request compiled for concrete shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/session/instance.h"
#include "runtime/session/model.h"
#include "runtime/session/spread.h"
#include "runtime/transform/specialize.h"

namespace hr::session {

// A tensor's type as a run sees it.
struct ConcreteType {
  DType dtype = DType::kUndefined;
  Dims dims;
};

struct PlanOptions {
  bool fuse = true;
  bool deterministic = true;
  std::string device;      // of nodes that name none; empty: the CPU
  bool only_host = false;  // whatever nodes say
};

// Immutable but for its idle instances; shared by all the calls that need it. Thread-safe.
class Plan {
 public:
  static Result<std::shared_ptr<Plan>> Compile(const Model& model,
                                               const transform::Request& request,
                                               const PlanOptions& options);

  Executable& executable() const { return *executable_; }
  const std::vector<ConcreteType>& outputs() const { return outputs_; }
  // Variables that the plan touches; those that it writes.
  const std::vector<uint32_t>& variables() const { return variables_; }
  const std::vector<uint32_t>& written() const { return written_; }
  bool writes() const { return !written_.empty(); }
  // Sessions whose variables are the model's own may share it, with all that it keeps of them.
  bool shareable() const { return !writes() && spread_ == nullptr; }
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

  // A new instance with its constants bound; see Instance for those that are used again.
  Result<std::unique_ptr<Invocation>> Instantiate() const;
  IdleInstances& idle() { return idle_; }
  std::string Describe() const;

 private:
  friend class SharedPlans;
  explicit Plan(std::shared_ptr<Env> env) : env_(std::move(env)), idle_(env_->threads().total()) {}
  Status CompileWith(const CompileOptions& compile, const PlanOptions& options);
  void DescribeRegions(JsonWriter& json) const;
  void DescribeOnlyRegion(JsonWriter& json) const;
  void DescribePlacement(JsonWriter& json) const;

  std::shared_ptr<Env> env_;  // outlives the executable
  graph::Module region_;      // the whole, where there are several
  std::string default_device_;
  std::vector<Device*> placement_;         // of the nodes; empty where the CPU runs all
  std::vector<Device*> variable_devices_;  // null: the host; empty where all are there
  std::unique_ptr<Executable> executable_;
  const Spread* spread_ = nullptr;  // the executable, where it has several regions
  IdleInstances idle_;
  std::vector<ConcreteType> outputs_;
  std::vector<uint32_t> variables_;
  std::vector<uint32_t> written_;
  bool random_ = false;
  bool shared_ = false;
  uint32_t first_constant_ = 0;
  uint32_t first_variable_ = 0;
  uint32_t first_output_ = 0;
};

}  // namespace hr::session
