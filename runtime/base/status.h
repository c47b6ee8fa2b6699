// Status: the outcome of every call that can fail. A success is one null pointer, so returning it
// costs nothing; a failure owns a code, a sentence and, if it applies, the name of a node.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace hr {

// The values are part of the C ABI (hr_code) and of the wire protocol: never renumber.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
  kTainted = 17,
  kArbiterLost = 18,
  kDeviceLost = 19,
};

// The upper-case name of `code`, e.g. "INVALID_ARGUMENT".
std::string_view CodeName(Code code);

// Movable, not copyable (Clone() copies). The message is one sentence or more that say what was
// expected, what came and what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(Status&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  // Inline, so that no code is left if it is known to be a success, or to have moved on.
  [[gnu::always_inline]] ~Status() {
    if (state_ != nullptr) Free(state_);
  }

  bool ok() const { return state_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : state_->code; }
  // Empty for a success; a failure's two texts end with a zero byte.
  std::string_view message() const;
  // Returns the name of the node that failed; empty if no node is to blame.
  std::string_view node() const;

  // Names the node, unless one is named already (the innermost is the culprit).
  Status&& WithNode(std::string_view node) &&;
  // Puts "context: " before the message.
  Status&& WithContext(std::string_view context) &&;

  Status Clone() const;
  // "INVALID_ARGUMENT: message (node 'conv1')", or "OK".
  std::string ToString() const;
  // For places in which nobody can read the failure (destructors).
  void IgnoreError() const {}

 private:
  struct State {
    Code code;
    std::string message;
    std::string node;
  };
  static void Free(State* state);

  State* state_ = nullptr;
};

}  // namespace hr

#define HR_CONCAT_INNER(a, b) a##b
#define HR_CONCAT(a, b) HR_CONCAT_INNER(a, b)

// Leaves the function with the failure of `expr`, a Status.
#define HR_RETURN_IF_ERROR(expr)             \
  do {                                       \
    ::hr::Status hr_status_ = (expr);        \
    if (!hr_status_.ok()) return hr_status_; \
  } while (false)

// HR_ASSIGN_OR_RETURN(auto x, Compute()): declares x, or leaves with the failure of a Result. With
// `auto&& x` the value stays in the Result, which lives as long as x: no code to move it.
#define HR_ASSIGN_OR_RETURN(decl, expr) \
  HR_ASSIGN_OR_RETURN_INNER(HR_CONCAT(hr_result_, __LINE__), decl, expr)
#define HR_ASSIGN_OR_RETURN_INNER(result, decl, expr)  \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  decl = result.Take()
