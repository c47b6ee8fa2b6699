#include "runtime/base/errors.h"

#include <gtest/gtest.h>

namespace hr {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("expected an even number, got ", n);
  return n / 2;
}

Result<int> Quarter(int n) {
  HR_ASSIGN_OR_RETURN(int half, Half(n));
  return Half(half);
}

TEST(Status, SuccessHasNoText) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, InnermostNodeIsTheCulprit) {
  Status status = NotFound("no such value").WithNode("inner");
  status = std::move(status).WithNode("outer").WithContext("while planning");
  EXPECT_EQ(status.node(), "inner");
  EXPECT_EQ(status.ToString(), "NOT_FOUND: while planning: no such value (node 'inner')");
}

TEST(Result, FailurePassesThrough) {
  EXPECT_EQ(Quarter(8).value(), 2);
  Result<int> odd = Quarter(6);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.status().message(), "expected an even number, got 3");
}

}  // namespace
}  // namespace hr
