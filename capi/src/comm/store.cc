#include <algorithm>
#include <thread>

#include "capi/src/comm/handles.h"
#include "runtime/comm/store_values.h"

namespace hr::capi {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(1);
constexpr auto kLastPause = std::chrono::milliseconds(50);
constexpr size_t kUsualValue = 4096;

// A store made of the host's three functions; the rest is made of those.
class HostStore final : public comm::Store {
 public:
  explicit HostStore(const hr_store_callbacks& host) : host_(host) {}
  ~HostStore() override {
    if (host_.release != nullptr) host_.release(host_.context);
  }

  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    for (;;) {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> held, TryGet(key, limits));
      HR_ASSIGN_OR_RETURN(const bool done, Swap(key, held, value));
      if (done) return {};
      HR_RETURN_IF_ERROR(limits.Check());
    }
  }

  Result<std::optional<std::string>> TryGet(std::string_view key, const CallLimits&) override {
    HR_RETURN_IF_ERROR(comm::CheckEntry(key, ""));
    const std::string name(key);
    std::string value(kUsualValue, '\0');
    for (;;) {
      int64_t size = -1;
      HR_RETURN_IF_ERROR(Checked(
          host_.get(host_.context, name.c_str(), value.data(), value.size(), &size), "get", key));
      if (size == -1) return std::optional<std::string>();
      if (size < 0 || static_cast<uint64_t>(size) > comm::kMaxStoreValue) {
        return DataLoss("the host's store gave ", size, " bytes for key '", key, "'");
      }
      const bool fits = static_cast<size_t>(size) <= value.size();
      value.resize(size);
      if (fits) return std::optional<std::string>(std::move(value));
    }
  }

  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLastPause)) {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> value, TryGet(key, limits));
      if (value.has_value()) return *std::move(value);
      if (Status status = limits.Check(); !status.ok()) {
        return std::move(status).WithContext(Cat("waiting for key '", key, "'"));
      }
      std::this_thread::sleep_for(pause);
    }
  }

  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    for (;;) {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> held, TryGet(key, limits));
      HR_ASSIGN_OR_RETURN(const int64_t sum, comm::AddToValue(key, held, delta));
      HR_ASSIGN_OR_RETURN(const bool done, Swap(key, held, Cat(sum)));
      if (done) return sum;
      HR_RETURN_IF_ERROR(limits.Check());
    }
  }

  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    std::optional<std::string> from;
    if (expected.has_value()) from = *expected;
    HR_ASSIGN_OR_RETURN(const bool done, Swap(key, from, desired));
    if (done) return std::string(desired);
    HR_ASSIGN_OR_RETURN(std::optional<std::string> held, TryGet(key, limits));
    return std::move(held).value_or("");
  }

  Status Delete(std::string_view key, const CallLimits&) override {
    HR_RETURN_IF_ERROR(comm::CheckEntry(key, ""));
    return Checked(host_.remove(host_.context, std::string(key).c_str()), "remove", key);
  }

  std::string Describe() const override { return "store of the host program"; }

 private:
  static Status Checked(hr_status* returned, std::string_view verb, std::string_view key) {
    if (returned == nullptr) return {};
    return plugin::FromC(returned).WithContext(
        Cat("the host's store failed to ", verb, " key '", key, "'"));
  }
  Result<bool> Swap(std::string_view key, const std::optional<std::string>& expected,
                    std::string_view desired) {
    HR_RETURN_IF_ERROR(comm::CheckEntry(key, desired));
    const std::string name(key), value(desired);
    int32_t swapped = 0;
    HR_RETURN_IF_ERROR(Checked(
        host_.compare_and_swap(
            host_.context, name.c_str(), expected.has_value() ? expected->c_str() : nullptr,
            expected.has_value() ? expected->size() : 0, value.c_str(), value.size(), &swapped),
        "set", key));
    return swapped != 0;
  }

  const hr_store_callbacks host_;
};

Result<std::shared_ptr<comm::Store>> CreateHostStore(const hr_store_callbacks* given) {
  HR_ASSIGN_OR_RETURN(hr_store_callbacks host, CopySized(given, "hr_store_callbacks"));
  if (host.get == nullptr || host.compare_and_swap == nullptr || host.remove == nullptr) {
    return InvalidArgument("hr_store_callbacks has a function that is NULL");
  }
  return std::shared_ptr<comm::Store>(std::make_shared<HostStore>(host));
}

Result<std::shared_ptr<comm::Store>> OpenStore(session::Env& env, const char* url,
                                               const hr_store_options* given) {
  HR_ASSIGN_OR_RETURN(const hr_store_options options, CopySized(given, "hr_store_options"));
  comm::StoreSettings settings = {.serve = options.serve != 0,
                                  .trusted_fabric = options.trusted_fabric != 0};
  HR_ASSIGN_OR_RETURN(settings.secret, SecretOr(options.secret));
  HR_ASSIGN_OR_RETURN(auto store, env.comm().OpenStore(url, settings));
  return std::shared_ptr<comm::Store>(std::move(store));
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_store_open(hr_env* env, const char* url, hr_store** out) {
  return hr_store_open_with(env, url, nullptr, out);
}

hr_status* hr_store_open_with(hr_env* env, const char* url, const hr_store_options* options,
                              hr_store** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(url);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::OpenStore(*env->rep, url, options));
}

hr_status* hr_store_url(const hr_store* store, hr_text** out) {
  HR_REQUIRE(store);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, store->rep->Url());
}

hr_status* hr_store_from_callbacks(const hr_store_callbacks* callbacks, hr_store** out) {
  HR_REQUIRE(callbacks);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::capi::CreateHostStore(callbacks));
}

void hr_store_release(hr_store* store) { delete store; }

}  // extern "C"
