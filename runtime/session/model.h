// A model: an immutable, checked module, shared by any number of sessions and threads.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/session/env.h"

namespace hr::session {

class Plan;

// The plans that the sessions of a model share, as long as any of them has it. Thread-safe.
class SharedPlans {
 public:
  // Null where there is none.
  std::shared_ptr<Plan> Find(std::string_view key);
  // The plan, or an equal one that came first.
  std::shared_ptr<Plan> Add(std::string key, std::shared_ptr<Plan> plan);

 private:
  struct Entry {
    std::string key;
    std::weak_ptr<Plan> plan;
  };
  std::shared_ptr<Plan> FindLocked(std::string_view key) const;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

class Model {
 public:
  // Checks the module's operators against those of the env. One that is unknown, or used otherwise
  // than here, is taken for inspection only: then the fault is UNIMPLEMENTED.
  static Result<std::shared_ptr<const Model>> Create(std::shared_ptr<Env> env, graph::Module module,
                                                     bool inspect_only = false);
  // Why no session can run it; OK for all models but those.
  const Status& fault() const { return fault_; }

  const graph::Module& module() const { return module_; }
  // What plans are made from: the same, with the compositions of composed operators added.
  const graph::Module& executable() const { return composed_ ? *composed_ : module_; }
  Env& env() const { return *env_; }
  const std::shared_ptr<Env>& shared_env() const { return env_; }

  SharedPlans& shared_plans() const { return shared_plans_; }

  // Failures name the closest known name.
  Result<const graph::Signature*> FindSignature(std::string_view name) const;
  Result<graph::ValueId> FindValue(std::string_view name) const;
  Result<graph::NodeId> FindNode(std::string_view name) const;
  Result<uint32_t> FindVariable(std::string_view name) const;
  // Signatures with types, variables, graphs, operators in use, metadata, as JSON.
  std::string Describe() const;

 private:
  Model() = default;
  std::shared_ptr<Env> env_;
  graph::Module module_;
  std::optional<graph::Module> composed_;
  Status fault_;
  std::unordered_map<std::string_view, graph::ValueId> values_;
  std::unordered_map<std::string_view, graph::NodeId> nodes_;
  mutable SharedPlans shared_plans_;
};

}  // namespace hr::session
