// What the tests of this room and of `train` share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <string>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/device/tensor.h"

namespace hr::data {

// Counts what it gives; every fixture asserts that all came back.
class CountingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes, size_t alignment) override {
    if (allocations_.fetch_add(1) >= fail_from_) return nullptr;
    live_.fetch_add(1);
    return SystemAllocator().Allocate(bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    live_.fetch_sub(1);
    SystemAllocator().Deallocate(data, bytes, alignment);
  }
  int allocations() const { return allocations_; }
  int live() const { return live_; }
  // After `n` more allocations all fail.
  void FailAfter(int n) { fail_from_ = allocations_ + n; }

 private:
  std::atomic<int> allocations_{0};
  std::atomic<int> live_{0};
  int fail_from_ = INT32_MAX;
};

// A folder of its own for each test, removed afterwards.
class TempFolder {
 public:
  TempFolder() {
    std::string name = JoinPath(testing::TempDir(), "headrace-XXXXXX");
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { RemoveTree(path_).IgnoreError(); }
  std::string Path(std::string_view name) const { return JoinPath(path_, name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class DataTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(allocator_.live(), 0) << "tensor memory leaked"; }

  CountingAllocator allocator_;
  TempFolder folder_;
};

inline void WriteText(const std::string& path, std::string_view text) {
  Result<FileWriter> file = FileWriter::Create(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_TRUE(file->Write(AsBytes(text)).ok()) << path;
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace hr::data

// Fails the test with the message of a Status or a Result.
#define HR_EXPECT_OK(expr)                                  \
  do {                                                      \
    const auto& hr_outcome = (expr);                        \
    EXPECT_TRUE(hr_outcome.ok()) << StatusText(hr_outcome); \
  } while (false)
#define HR_EXPECT_ERROR(expr, expected_code, part)                                           \
  do {                                                                                       \
    const std::string hr_text = StatusText(expr);                                            \
    EXPECT_TRUE(Contains(hr_text, CodeName(Code::expected_code)) && Contains(hr_text, part)) \
        << "expected " << CodeName(Code::expected_code) << " with '" << (part)               \
        << "', got: " << hr_text;                                                            \
  } while (false)

namespace hr::data {
inline std::string StatusText(const Status& status) { return status.ToString(); }
template <typename T>
std::string StatusText(const Result<T>& result) {
  return result.status().ToString();
}
}  // namespace hr::data
