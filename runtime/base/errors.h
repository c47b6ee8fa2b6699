// One constructor a Status code; the pieces of the message are joined:
//   return InvalidArgument("feed '", name, "' wants float32, got ", DTypeName(dtype));
#pragma once

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace hr {

namespace internal {
// `what`: the code in the lowest byte, the kinds of the pieces above it.
[[gnu::cold]] Status Failure(uint64_t what, ...);
}  // namespace internal

#define HR_DEFINE_ERROR(name, code)                                                 \
  template <typename... Pieces>                                                     \
  [[gnu::always_inline]] inline Status name(const Pieces&... pieces) {              \
    using internal::Travelling;                                                     \
    constexpr uint64_t kKinds = internal::Kinds<decltype(Travelling(pieces))...>(); \
    return internal::Failure(kKinds << 8 | static_cast<uint64_t>(Code::code),       \
                             Travelling(pieces)...);                                \
  }
HR_DEFINE_ERROR(Cancelled, kCancelled)
HR_DEFINE_ERROR(InvalidArgument, kInvalidArgument)
HR_DEFINE_ERROR(DeadlineExceeded, kDeadlineExceeded)
HR_DEFINE_ERROR(NotFound, kNotFound)
HR_DEFINE_ERROR(AlreadyExists, kAlreadyExists)
HR_DEFINE_ERROR(PermissionDenied, kPermissionDenied)
HR_DEFINE_ERROR(ResourceExhausted, kResourceExhausted)
HR_DEFINE_ERROR(FailedPrecondition, kFailedPrecondition)
HR_DEFINE_ERROR(Aborted, kAborted)
HR_DEFINE_ERROR(OutOfRange, kOutOfRange)
HR_DEFINE_ERROR(Unimplemented, kUnimplemented)
HR_DEFINE_ERROR(Internal, kInternal)
HR_DEFINE_ERROR(Unavailable, kUnavailable)
HR_DEFINE_ERROR(DataLoss, kDataLoss)
HR_DEFINE_ERROR(Unauthenticated, kUnauthenticated)
HR_DEFINE_ERROR(Tainted, kTainted)
HR_DEFINE_ERROR(ArbiterLost, kArbiterLost)
HR_DEFINE_ERROR(DeviceLost, kDeviceLost)
#undef HR_DEFINE_ERROR

}  // namespace hr
