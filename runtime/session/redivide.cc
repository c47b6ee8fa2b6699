// Sessions whose group has another number of ranks than their model was made for.
#include "runtime/transform/redivide.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/graph/shards.h"
#include "runtime/session/session.h"

namespace hr::session {
namespace {

// Among how many ranks the group's variables are divided; 0: none is.
Result<int64_t> RanksOf(const graph::Module& module, std::string_view group) {
  HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(module));
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [&](const graph::Shard& shard) { return shard.group == group; });
  return found == shards.end() ? 0 : found->ranks;
}

}  // namespace

Status Session::CheckDivided(std::string_view group, int64_t ranks) const {
  HR_ASSIGN_OR_RETURN(const int64_t its, RanksOf(model().module(), group));
  if (its == 0 || its == ranks) return {};
  return FailedPrecondition("the graph divides the optimizer's state among ", its,
                            " ranks (zero=1 ranks=", its, "), but the group '", group, "' has ",
                            ranks, "; build it for hr_group_size()");
}

Result<const Model*> Session::ModelFor(std::string_view group, int64_t ranks) {
  for (const auto& known : models_) {
    HR_ASSIGN_OR_RETURN(const int64_t its, RanksOf(known->module(), group));
    if (its == ranks) return known.get();
  }
  HR_ASSIGN_OR_RETURN(auto&& module, transform::Redivided(env().allocator(), env().operators(),
                                                          model().module(), group, ranks));
  HR_ASSIGN_OR_RETURN(auto made, Model::Create(model().shared_env(), std::move(module)));
  models_.push_back(std::move(made));
  return models_.back().get();
}

Status Session::Redivide(std::string_view group, int64_t ranks, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(RunGuard guard, Lock("dividing variables", true, limits));
  HR_ASSIGN_OR_RETURN(const int64_t before, RanksOf(model().module(), group));
  if (before == 0) return FailedPrecondition("the group '", group, "' divides no variable");
  HR_ASSIGN_OR_RETURN(const Model* next, ModelFor(group, ranks));
  const graph::Module& module = next->module();
  HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(module));
  std::vector<std::pair<uint32_t, Tensor>> initial;
  for (const graph::Shard& shard : shards) {
    if (shard.group != group) continue;
    const uint32_t constant = module.variables[shard.variable].initial_constant;
    HR_ASSIGN_OR_RETURN(auto&& value, module.constants[constant].Clone(env().allocator()));
    initial.emplace_back(shard.variable, std::move(value));
  }
  for (auto& [variable, value] : initial) variables_.SetOwned(variable, std::move(value));
  model_.store(next, std::memory_order_release);
  std::lock_guard lock(plans_mutex_);
  plans_.clear();
  return {};
}

}  // namespace hr::session
