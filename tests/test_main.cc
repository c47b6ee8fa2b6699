// main of the test programs over GoogleTest: a test also fails where it leaves something behind.
// (Fixtures with an allocator of their own look at its bytes, too.)
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/leaks.h"

namespace {

class LeakCheck final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { leaks_.emplace(); }
  void OnTestEnd(const testing::TestInfo& info) override {
    const testing::TestResult& result = *info.result();
    // GoogleTest keeps what it notes of a test.
    const bool noted = result.total_part_count() + result.test_property_count() > 0;
    EXPECT_EQ(leaks_->Text(!noted && !hr::library_keeps_objects), "")
        << "the test leaves them behind";
  }

 private:
  std::optional<hr::Leaks> leaks_;
};

}  // namespace

int main(int argc, char** argv) {
  std::thread([] {}).join();  // with the first one the thread sanitizer starts one of its own
  testing::InitGoogleTest(&argc, argv);
  { SCOPED_TRACE("the first one makes what is kept for all"); }
  testing::UnitTest::GetInstance()->listeners().Append(new LeakCheck);
  return RUN_ALL_TESTS();
}
