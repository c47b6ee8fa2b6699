// The groups in which a session's graphs communicate, by the names that nodes give.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/collectives.h"

namespace hr::session {

// Guarded by the session's run lock.
class SessionGroups final : public comm::GroupTable {
 public:
  comm::Collectives* Find(std::string_view name) const override {
    const auto found = At(name);
    return found == groups_.end() ? nullptr : found->second.get();
  }
  // Returns null if there is no such group.
  std::shared_ptr<comm::Collectives> Share(std::string_view name) const {
    const auto found = At(name);
    return found == groups_.end() ? nullptr : found->second;
  }
  // Replaces the group of that name; null takes it away.
  void Bind(std::string_view name, std::shared_ptr<comm::Collectives> group) {
    std::erase_if(groups_, [&](const auto& one) { return one.first == name; });
    if (group != nullptr) groups_.emplace_back(name, std::move(group));
  }

 private:
  using Groups = std::vector<std::pair<std::string, std::shared_ptr<comm::Collectives>>>;
  Groups::const_iterator At(std::string_view name) const {
    return std::find_if(groups_.begin(), groups_.end(),
                        [&](const auto& one) { return one.first == name; });
  }

  Groups groups_;
};

}  // namespace hr::session
