#include "runtime/base/status.h"

#include "runtime/base/strings.h"

namespace hr {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kAborted: return "ABORTED";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
    case Code::kTainted: return "TAINTED";
    case Code::kArbiterLost: return "ARBITER_LOST";
    case Code::kDeviceLost: return "DEVICE_LOST";
  }
  return "UNKNOWN";
}

Status::Status(Code code, std::string message) : state_(new State{code, std::move(message), {}}) {}

void Status::Free(State* state) { delete state; }

std::string_view Status::message() const {
  return ok() ? std::string_view() : std::string_view(state_->message);
}

std::string_view Status::node() const {
  return ok() ? std::string_view() : std::string_view(state_->node);
}

Status&& Status::WithNode(std::string_view node) && {
  if (!ok() && state_->node.empty()) state_->node = node;
  return std::move(*this);
}

Status&& Status::WithContext(std::string_view context) && {
  if (!ok()) state_->message = Cat(context, ": ", state_->message);
  return std::move(*this);
}

Status Status::Clone() const {
  if (ok()) return {};
  Status copy(state_->code, state_->message);
  copy.state_->node = state_->node;
  return copy;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text = Cat(CodeName(state_->code), ": ", state_->message);
  if (!state_->node.empty()) text += Cat(" (node '", state_->node, "')");
  return text;
}

}  // namespace hr
