// A model: an immutable, checked module, shared by any number of sessions and threads.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/graph/graph.h"
#include "runtime/session/env.h"

namespace hr::session {

class Model {
 public:
  // Checks the module's operators against those of the env.
  static Result<std::shared_ptr<const Model>> Create(std::shared_ptr<Env> env,
                                                     graph::Module module);

  const graph::Module& module() const { return module_; }
  Env& env() const { return *env_; }
  const std::shared_ptr<Env>& shared_env() const { return env_; }

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
  std::unordered_map<std::string_view, graph::ValueId> values_;
  std::unordered_map<std::string_view, graph::NodeId> nodes_;
};

}  // namespace hr::session
