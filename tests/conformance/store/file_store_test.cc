// What is the file store's alone: it outlives the processes that use it, and those that are
// stopped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>

#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/store.h"

namespace hr::comm {
namespace {

CallLimits Soon() {
  return {.deadline_nanos = SystemClock().NowNanos() + 300'000'000, .clock = &SystemClock()};
}

class FileStoreTest : public testing::Test {
 protected:
  FileStoreTest() {
    folder_ = testing::TempDir() + "headrace_store_XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    store_ = std::move(CreateFileStore(folder_)).value();
  }
  ~FileStoreTest() override { EXPECT_TRUE(RemoveTree(folder_).ok()); }

  // As a process does that is stopped at the worst moment.
  Descriptor HoldLock() {
    Descriptor lock(::open(JoinPath(folder_, "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    return lock;
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

// Ranks publish addresses and decide who failed by a key that is new.
TEST_F(FileStoreTest, ANewKeyNeedsNoLock) {
  const Descriptor lock = HoldLock();
  EXPECT_EQ(*store_->CompareAndSwap("verdict", std::nullopt, "first", Soon()), "first");
  EXPECT_EQ(*store_->CompareAndSwap("verdict", std::nullopt, "second", Soon()), "first");
  EXPECT_EQ(*store_->Get("verdict", Soon()), "first");
}

TEST_F(FileStoreTest, AStoppedHolderOfTheLockIsNamed) {
  const Descriptor lock = HoldLock();
  const Status status = store_->Set("key", "value", Soon());
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_NE(status.message().find("stopped, keeps"), std::string_view::npos) << status.ToString();
}

TEST_F(FileStoreTest, LeavesNoDrafts) {
  ASSERT_TRUE(store_->Set("a", "1", Soon()).ok());
  ASSERT_TRUE(store_->Add("b", 2, Soon()).ok());
  ASSERT_TRUE(store_->CompareAndSwap("a", "1", "2", Soon()).ok());
  ASSERT_TRUE(store_->CompareAndSwap("a", "1", "3", Soon()).ok());
  ASSERT_TRUE(store_->CompareAndSwap("a", std::nullopt, "4", Soon()).ok());
  std::vector<std::string> names = std::move(ListDirectory(folder_)).value();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"k.a", "k.b", "lock"}));
}

}  // namespace
}  // namespace hr::comm
