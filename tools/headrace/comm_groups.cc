#include "tools/headrace/comm_groups.h"

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tools/headrace/errors.h"

namespace headrace::tool {
namespace {

std::vector<hr::Group> MakeOfThreads(const hr::Env& env, const hr_group_options& options,
                                     int32_t ranks) {
  hr_store* store;
  hr::check(hr_store_open(env.get(), "memory:", &store));
  const std::unique_ptr<hr_store, void (*)(hr_store*)> owner(store, hr_store_release);
  std::vector<hr::Group> groups;
  std::string failure;
  std::mutex mutex;  // both
  std::vector<std::thread> threads;
  for (int32_t rank = ranks - 1; rank >= 0; --rank) {
    threads.emplace_back([&, rank] {
      hr_group_options given = options;
      given.rank = rank;
      given.size = ranks;
      given.store = store;
      try {
        hr::Group group(env, given);
        std::lock_guard lock(mutex);
        groups.push_back(std::move(group));
      } catch (const hr::Error& error) {
        std::lock_guard lock(mutex);
        failure = error.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw Failure(failure);
  return groups;
}

}  // namespace

std::vector<hr::Group> JoinOrMake(const hr::Env& env, const hr_group_options& options,
                                  int32_t ranks) {
  hr_launch* launch;
  hr::check(hr_launch_from_environment(&launch));
  const int32_t launched = hr_launch_size(launch);
  hr_launch_release(launch);
  if (launched < 2) return MakeOfThreads(env, options, ranks);
  std::vector<hr::Group> groups;
  groups.emplace_back(env, options);
  return groups;
}

}  // namespace headrace::tool
