// A folder of one test, gone when the test ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "runtime/base/file.h"

namespace hr {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "headrace_" + test->name() + "_" + std::to_string(getpid());
    EXPECT_TRUE(MakeDirectories(path_).ok());
  }
  ~TemporaryFolder() { EXPECT_TRUE(RemoveTree(path_).ok()); }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return JoinPath(path_, name); }

 private:
  std::string path_;
};

}  // namespace hr
