#include "tests/conformance/store/drivers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>

#include "capi/src/comm/handles.h"
#include "runtime/base/file.h"

namespace hr::comm {
namespace {

std::shared_ptr<hr_env> NewEnv() {
  hr_env* env = nullptr;
  EXPECT_EQ(hr_env_create(nullptr, &env), nullptr);
  return std::shared_ptr<hr_env>(env, hr_env_release);
}

std::shared_ptr<Store> Open(hr_env* env, const std::string& url, bool serve, const char* secret) {
  const hr_store_options options = {
      .struct_size = sizeof options, .serve = serve ? 1 : 0, .trusted_fabric = 0, .secret = secret};
  hr_store* store = nullptr;
  hr_status* status = hr_store_open_with(env, url.c_str(), &options, &store);
  EXPECT_EQ(status, nullptr) << hr_status_message(status);
  auto rep = store->rep;
  hr_store_release(store);
  return rep;
}

StoreFixture InMemory() {
  auto env = NewEnv();
  auto store = Open(env.get(), "memory:", false, "");
  return {[store] { return store; }, env};
}

// The folder goes with the fixture.
struct Folder {
  std::string path = testing::TempDir() + "headrace_store_XXXXXX";
  std::shared_ptr<hr_env> env = NewEnv();
  Folder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Folder() { EXPECT_TRUE(RemoveTree(path).ok()); }
};

StoreFixture File() {
  auto folder = std::make_shared<Folder>();
  return {[folder] { return Open(folder->env.get(), Cat("file:", folder->path), false, ""); },
          folder};
}

StoreFixture Tcp(const std::string& host, const char* secret) {
  auto env = NewEnv();
  auto server = Open(env.get(), Cat("tcp:", host, ":0"), true, secret);
  return {[env, server, secret, first = true]() mutable {
            // The keeper itself, and clients.
            return std::exchange(first, false) ? server
                                               : Open(env.get(), server->Url(), false, secret);
          },
          server};
}

// What a host program might keep its store in.
struct HostMap {
  std::mutex mutex;
  std::map<std::string, std::string> values;
};

hr_status* HostGet(void* context, const char* key, char* value, size_t capacity,
                   int64_t* out_size) {
  auto& map = *static_cast<HostMap*>(context);
  std::lock_guard lock(map.mutex);
  const auto found = map.values.find(key);
  *out_size = -1;
  if (found == map.values.end()) return nullptr;
  std::memcpy(value, found->second.data(), std::min(capacity, found->second.size()));
  *out_size = static_cast<int64_t>(found->second.size());
  return nullptr;
}

hr_status* HostSwap(void* context, const char* key, const char* expected, size_t expected_size,
                    const char* desired, size_t desired_size, int32_t* out_swapped) {
  auto& map = *static_cast<HostMap*>(context);
  std::lock_guard lock(map.mutex);
  const auto found = map.values.find(key);
  const bool same =
      expected == nullptr
          ? found == map.values.end()
          : found != map.values.end() && found->second == std::string_view(expected, expected_size);
  if (same) map.values[key] = std::string(desired, desired_size);
  *out_swapped = same ? 1 : 0;
  return nullptr;
}

hr_status* HostRemove(void* context, const char* key) {
  auto& map = *static_cast<HostMap*>(context);
  std::lock_guard lock(map.mutex);
  map.values.erase(key);
  return nullptr;
}

StoreFixture Host() {
  auto map = std::make_shared<HostMap>();
  return {[map] {
            const hr_store_callbacks callbacks = {.struct_size = sizeof callbacks,
                                                  .context = map.get(),
                                                  .get = HostGet,
                                                  .compare_and_swap = HostSwap,
                                                  .remove = HostRemove,
                                                  .release = nullptr};
            hr_store* store = nullptr;
            EXPECT_EQ(hr_store_from_callbacks(&callbacks, &store), nullptr);
            auto rep = store->rep;
            hr_store_release(store);
            return rep;
          },
          map};
}

// What libuv opens once for the whole process is no test's.
class OpenedOnce final : public testing::Environment {
  void SetUp() override {
    for (const StoreDriver& driver : StoreDrivers()) driver.create().open();
  }
};
[[maybe_unused]] auto* const opened_once = testing::AddGlobalTestEnvironment(new OpenedOnce);

}  // namespace

std::vector<StoreDriver> StoreDrivers() {
  return {
      {"memory", InMemory},
      {"file", File},
      {"host", Host},
      {"tcp", [] { return Tcp("127.0.0.1", ""); }},
      {"tcp_ipv6", [] { return Tcp("[::1]", ""); }},
      {"tcp_by_name", [] { return Tcp("localhost", ""); }},
      {"tcp_tls", [] { return Tcp("127.0.0.1", "a secret of the conformance suite"); }},
  };
}

}  // namespace hr::comm
