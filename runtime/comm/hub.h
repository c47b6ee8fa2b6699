// What the groups of an env share: the transports and stores that there are, and the one thread
// that moves the data of groups for which nobody waits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/comm/mesh.h"
#include "runtime/comm/poller.h"
#include "runtime/comm/schedule.h"
#include "runtime/comm/store.h"

namespace hr::comm {

struct StoreSettings {
  // This process keeps the store, where nobody does yet: one that others reach at an address.
  bool serve = false;
  std::string secret;
  bool trusted_fabric = false;
};

// Thread-safe after the Add calls.
class Hub {
 public:
  using MakeTransport = std::function<Result<std::unique_ptr<Transport>>(
      const TransportSettings& settings, std::string identity)>;
  using MakeStore = std::function<Result<std::unique_ptr<Store>>(const std::string& place,
                                                                 const StoreSettings& settings)>;

  // What else is to be known of a transport.
  struct Traits {
    // Why it cannot be had on this machine; "auto" goes without it then.
    std::function<Status()> available = [] { return Status(); };
    // Whether "auto" takes it, where it can be had.
    std::function<bool(const TransportSettings&)> automatic = [](const auto&) { return true; };
    // What it found on this machine, for people.
    std::function<std::string()> devices = [] { return std::string(); };
    // Which brings it; empty where the library does.
    std::string plugin;
  };

  // In the order of preference; the last one reaches everybody.
  void AddTransport(std::string name, MakeTransport make, Traits traits);
  void AddTransport(std::string name, MakeTransport make) {
    AddTransport(std::move(name), std::move(make), Traits());
  }
  // One that the host has loaded: preferred to the last of those that are there. OK where this
  // plugin brings it anyway; ALREADY_EXISTS where another transport has this name;
  // FAILED_PRECONDITION after the first group.
  Status AddPluginTransport(std::string name, MakeTransport make, Traits traits);
  // Opens urls "scheme:place".
  void AddStore(std::string scheme, MakeStore make);
  void SetPlanner(std::unique_ptr<Planner> planner) { planner_ = std::move(planner); }

  // `wanted`: "auto" for all, or names joined by commas, in the caller's order of preference.
  Result<std::vector<TransportFactory>> Transports(std::string_view wanted,
                                                   const TransportSettings& settings);
  Result<std::unique_ptr<Store>> OpenStore(std::string_view url,
                                           const StoreSettings& settings) const;
  // The same for groups that are made one after the other: where this process keeps the store for
  // others, it goes on as long as the hub. A rank that is ahead so never meets the store of a group
  // that its keeper is about to leave.
  Result<std::shared_ptr<Store>> OpenGroupStore(std::string_view url,
                                                const StoreSettings& settings);
  // Of those that can be had on this machine.
  std::vector<std::string_view> transport_names() const { return NamesOf(transports_); }
  std::vector<std::string_view> store_schemes() const { return NamesOf(stores_); }
  // What that transport found on this machine.
  std::string DevicesOf(std::string_view transport) const;
  const Planner* planner() const { return planner_.get(); }
  // Its thread starts with the first call.
  Result<Poller*> poller();

 private:
  template <typename Make>
  struct Named {
    std::string name;
    Make make;
    Traits traits;
  };
  template <typename Make>
  static std::vector<std::string_view> NamesOf(const std::vector<Named<Make>>& all) {
    std::vector<std::string_view> names;
    for (const Named<Make>& one : all) {
      if (one.traits.available().ok()) names.push_back(one.name);
    }
    return names;
  }

  std::vector<Named<MakeTransport>> transports_;
  std::vector<Named<MakeStore>> stores_;
  std::unique_ptr<Planner> planner_;
  std::atomic<bool> used_ = false;
  std::mutex mutex_;  // what follows
  std::unique_ptr<Poller> poller_;
  // Stores that this process keeps, by all that they were opened with.
  std::map<std::tuple<std::string, std::string, bool>, std::shared_ptr<Store>> kept_;
};

}  // namespace hr::comm
