// main of every unit test program: a test also fails where it leaves threads or file descriptors
// behind. (Memory: fixtures with an allocator of their own look at it; leaks of the heap are the
// address sanitizer's.)
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace {

long Entries(const char* folder) {
  std::error_code none;
  return std::distance(std::filesystem::directory_iterator(folder, none), {});
}

class LeakCheck final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override {
    descriptors_ = Entries("/proc/self/fd");
    threads_ = Entries("/proc/self/task");
  }

  void OnTestEnd(const testing::TestInfo&) override {
    EXPECT_EQ(Entries("/proc/self/fd"), descriptors_) << "the test leaves file descriptors open";
    // A thread leaves /proc a moment after it was joined.
    for (int i = 0; i < 1000 && Entries("/proc/self/task") > threads_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(Entries("/proc/self/task"), threads_) << "the test leaves threads running";
  }

 private:
  long descriptors_ = 0;
  long threads_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::thread([] {}).join();  // with the first one the thread sanitizer starts one of its own
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new LeakCheck);
  return RUN_ALL_TESTS();
}
