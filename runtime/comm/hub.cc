#include "runtime/comm/hub.h"

#include <algorithm>

#include "runtime/comm/background_log.h"

namespace hr::comm {
namespace {

std::string Listed(const std::vector<std::string_view>& names) {
  return names.empty() ? "none in this build" : hr::Join(names);
}

template <typename List>
auto FindNamed(const List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& item) { return item.name == name; });
}

}  // namespace

void Hub::AddTransport(std::string name, MakeTransport make, Traits traits) {
  transports_.push_back({std::move(name), std::move(make), std::move(traits)});
}

Status Hub::AddPluginTransport(std::string name, MakeTransport make, Traits traits) {
  if (const auto found = FindNamed(transports_, name); found != transports_.end()) {
    if (found->traits.plugin == traits.plugin) return {};
    return AlreadyExists("a transport is already called '", name, "'");
  }
  if (used_.load(std::memory_order_relaxed)) {
    return FailedPrecondition("transports are added before the first group, which there was");
  }
  const auto last = transports_.empty() ? transports_.end() : std::prev(transports_.end());
  transports_.insert(last, {std::move(name), std::move(make), std::move(traits)});
  return {};
}

std::string Hub::DevicesOf(std::string_view transport) const {
  const auto found = FindNamed(transports_, transport);
  return found == transports_.end() ? "" : found->traits.devices();
}

void Hub::AddStore(std::string scheme, MakeStore make) {
  stores_.push_back({std::move(scheme), std::move(make), {}});
}

Result<std::vector<TransportFactory>> Hub::Transports(std::string_view wanted,
                                                      const TransportSettings& settings) {
  used_.store(true, std::memory_order_relaxed);
  std::vector<TransportFactory> out;
  auto add = [&](const Named<MakeTransport>& transport) {
    out.push_back([make = transport.make, settings](std::string identity) {
      return make(settings, std::move(identity));
    });
  };
  if (wanted == "auto") {
    for (const auto& transport : transports_) {
      if (transport.traits.automatic(settings) && transport.traits.available().ok()) {
        add(transport);
      }
    }
    if (out.empty()) return Unimplemented("this build has no transports");
    return out;
  }
  for (size_t begin = 0; begin <= wanted.size();) {
    const size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string_view name = wanted.substr(begin, end - begin);
    const auto found = FindNamed(transports_, name);
    if (found == transports_.end()) {
      return NotFound("there is no transport '", name, "'; there are: ", Listed(transport_names()),
                      "; or use auto");
    }
    if (Status status = found->traits.available(); !status.ok()) {
      return std::move(status).WithContext(Cat("transport '", name, "' needs a plugin"));
    }
    add(*found);
    begin = end + 1;
  }
  return out;
}

Result<std::unique_ptr<Store>> Hub::OpenStore(std::string_view url,
                                              const StoreSettings& settings) const {
  const size_t colon = std::min(url.find(':'), url.size());
  const auto found = FindNamed(stores_, url.substr(0, colon));
  if (colon == url.size() || found == stores_.end()) {
    return InvalidArgument("expected the url of a store, KIND:PLACE, with a kind of ",
                           Listed(store_schemes()), "; got '", url, "'");
  }
  return found->make(std::string(url.substr(colon + 1)), settings);
}

Result<std::shared_ptr<Store>> Hub::OpenGroupStore(std::string_view url,
                                                   const StoreSettings& settings) {
  if (!settings.serve) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, OpenStore(url, settings));
    return store;
  }
  std::lock_guard lock(mutex_);
  auto key = std::make_tuple(std::string(url), settings.secret, settings.trusted_fabric);
  if (auto kept = kept_.find(key); kept != kept_.end()) return kept->second;
  HR_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, OpenStore(url, settings));
  if (store->kept_here()) kept_.emplace(std::move(key), store);
  return store;
}

void Hub::UseForHost(std::shared_ptr<WorkerThreads> threads, ThreadBudget& budget, LogSink* log) {
  threads_ = std::move(threads);
  budget_ = &budget;
  if (log != nullptr) log_ = std::make_unique<BackgroundLog>(*log, threads_);
}

Result<Poller*> Hub::poller() {
  std::lock_guard lock(mutex_);
  if (poller_ == nullptr) {
    HR_ASSIGN_OR_RETURN(poller_, Poller::Create(threads_, budget_));
  }
  return poller_.get();
}

}  // namespace hr::comm
