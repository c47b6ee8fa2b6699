// What the groups of an env share: the registered transports and stores, and the threads that move
// the data of groups for which no thread waits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/comm/mesh_options.h"
#include "runtime/comm/poller.h"
#include "runtime/comm/schedule.h"
#include "runtime/comm/store.h"

namespace hr::comm {

struct StoreSettings {
  // This process keeps the store, unless another one already does. Only for stores with an address.
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

  // Further properties of a transport.
  struct Traits {
    // Returns why the transport is not available on this machine, or OK. "auto" skips it if it is
    // not.
    std::function<Status()> available = [] { return Status(); };
    // Returns whether "auto" uses it if it is available.
    std::function<bool(const TransportSettings&)> automatic = [](const auto&) { return true; };
    // Returns the devices that it has found on this machine, for people.
    std::function<std::string()> devices = [] { return std::string(); };
    // The plugin that contains it; empty if the library does.
    std::string plugin;
  };

  // Adds transports in the order of preference; the last one reaches all peers.
  void AddTransport(std::string name, MakeTransport make, Traits traits);
  void AddTransport(std::string name, MakeTransport make) {
    AddTransport(std::move(name), std::move(make), Traits());
  }
  // Adds a transport of a plugin that the host has loaded, before the last one in the order of
  // preference. OK if the plugin is the one that contains this transport anyway; ALREADY_EXISTS if
  // another transport has this name;
  // FAILED_PRECONDITION after the first group.
  Status AddPluginTransport(std::string name, MakeTransport make, Traits traits);
  // Adds a kind of store for URLs "scheme:place".
  void AddStore(std::string scheme, MakeStore make);
  void SetPlanner(std::unique_ptr<Planner> planner) { planner_ = std::move(planner); }

  // `wanted`: "auto" for all, or names joined by commas, in the caller's order of preference.
  Result<std::vector<TransportFactory>> Transports(std::string_view wanted,
                                                   const TransportSettings& settings);
  Result<std::unique_ptr<Store>> OpenStore(std::string_view url,
                                           const StoreSettings& settings) const;
  // The same for groups that are made one after the other: if this process keeps the store for
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
  // Functions of the host are called on `threads`, also those of `log`, which may be null. `budget`
  // is that of the threads that compute. Both outlive the hub. Called before the first group.
  void UseForHost(std::shared_ptr<WorkerThreads> threads, ThreadBudget& budget, LogSink* log);
  // The log for groups, which does not wait for the host; null if there is none.
  LogSink* log() const { return log_.get(); }
  // Its threads start with the first call.
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
  std::shared_ptr<WorkerThreads> threads_ = std::make_shared<WorkerThreads>();
  ThreadBudget* budget_ = nullptr;
  std::unique_ptr<LogSink> log_;
  std::mutex mutex_;  // what follows
  std::unique_ptr<Poller> poller_;
  // Stores that this process keeps, by all that they were opened with.
  std::map<std::tuple<std::string, std::string, bool>, std::shared_ptr<Store>> kept_;
};

}  // namespace hr::comm
