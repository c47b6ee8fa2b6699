// The handles: a struct with the C++ object that it stands for, and the wrappers every function
// uses.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "headrace/headrace.h"
#include "runtime/base/errors.h"
#include "runtime/plugin/status.h"
#include "runtime/session/async_run.h"
#include "runtime/session/call.h"
#include "runtime/transform/graph_builder.h"

struct hr_text {
  std::string rep;
};
struct hr_cancel {
  std::shared_ptr<hr::CancelToken> rep;
};
struct hr_env {
  std::shared_ptr<hr::session::Env> rep;
};
struct hr_tensor {
  hr::Tensor rep;
  hr::Dims strides;  // empty if contiguous
};
struct hr_node_spec {
  hr::transform::NodeSpec rep;
  std::vector<std::pair<std::string, hr::Tensor>> tensors;  // attributes that become constants
  hr::Status fault;  // the first wrong argument, which hr_graph_add reports
};
struct hr_model {
  std::shared_ptr<const hr::session::Model> rep;
};
struct hr_session {
  std::shared_ptr<hr::session::Session> rep;
};
struct hr_call {
  std::shared_ptr<hr::session::Call> rep;
};
struct hr_run {
  std::shared_ptr<hr::session::AsyncRun> rep;
};

namespace hr::capi {

// Null for a success.
hr_status* Wrap(Status status);
// Says that `function` was called without one of its arguments.
[[gnu::cold]] hr_status* NullArgument(const char* function, const char* argument);
// The same of element i of an argument.
[[gnu::cold]] hr_status* NullElement(const char* function, const char* argument, size_t i);

// The value through `out`, made into a handle, or the failure.
template <typename Handle, typename T>
hr_status* WrapInto(Handle** out, Result<T> result) {
  if (!result.ok()) return Wrap(std::move(result).status());
  *out = new Handle{std::move(result).value()};
  return nullptr;
}

inline hr_status* WrapText(hr_text** out, std::string text) {
  *out = new hr_text{std::move(text)};
  return nullptr;
}

// Takes a call for a function of the host, so that no other thread uses it meanwhile.
class CallUse {
 public:
  explicit CallUse(session::Call* call) : call_(call->Take() ? call : nullptr) {}
  CallUse(const CallUse&) = delete;
  CallUse& operator=(const CallUse&) = delete;
  ~CallUse() {
    if (call_ != nullptr) call_->Leave();
  }
  bool taken() const { return call_ != nullptr; }

 private:
  session::Call* const call_;
};

// A host's function that is told how something ended. It is called on one of `threads`, because it
// may take long; the status is the library's.
struct HostCallback {
  void (*function)(void* context, const hr_status* status);
  void* context;
  std::shared_ptr<WorkerThreads> threads;

  void operator()(const Status& status) const {
    threads->Add([function = function, context = context, given = Wrap(status.Clone())] {
      function(context, given);
      hr_status_release(given);
    });
  }
};

// The limits of a call of the host, which keep the cancel token.
struct HostLimits : CallLimits {
  std::shared_ptr<const CancelToken> held;
};

// The limits that count from now.
Result<HostLimits> LimitsFrom(const hr_limits* limits, const Clock& clock);

// Copies `given` over the struct of `size` bytes at `out`, which is all zero; both begin with
// struct_size.
Status CopySizedBytes(const void* given, const char* name, void* out, size_t size);

// A copy of a struct that begins with struct_size: what the caller's version does not have is zero.
// A failure if it has non-zero fields that this library does not know.
template <typename T>
Result<T> CopySized(const T* given, const char* name) {
  T out{};
  HR_RETURN_IF_ERROR(CopySizedBytes(given, name, &out, sizeof out));
  return out;
}

// Copies of the structs of an array, whose elements have the struct_size of the first.
template <typename T>
Result<std::vector<T>> CopySizedArray(const T* given, size_t count, const char* name) {
  std::vector<T> out;
  for (size_t i = 0; i < count; ++i) {
    const auto* bytes = reinterpret_cast<const char*>(given) + i * given->struct_size;
    const auto* element = reinterpret_cast<const T*>(bytes);
    if (element->struct_size != given->struct_size) {
      return InvalidArgument("element ", i, " of an array of ", name, " has the struct_size ",
                             element->struct_size, ", element 0 has ", given->struct_size);
    }
    HR_ASSIGN_OR_RETURN(T copy, CopySized(element, name));
    out.push_back(copy);
  }
  return out;
}

// Writes as much of `whole` as the caller's struct holds, and says how much that is.
template <typename T>
Status GiveSized(T whole, const char* name, T* out) {
  if (out->struct_size < sizeof(size_t)) {
    return InvalidArgument(name, ".struct_size is ", out->struct_size, "; set it to sizeof(", name,
                           ")");
  }
  whole.struct_size = std::min(out->struct_size, sizeof whole);
  std::memcpy(out, &whole, whole.struct_size);
  return {};
}

// Names and descriptions as C arrays.
Result<std::vector<std::string>> StringsFrom(size_t count, const char* const* names,
                                             const char* what);
Result<Dims> DimsFrom(size_t rank, const int64_t* dims);
// The operator and attributes of a node, as hr_graph_op takes them.
Result<transform::NodeSpec> SpecFor(const ops::OpRegistry& registry, const char* op,
                                    const char* attributes);
hr_tensor* NewTensor(Tensor tensor);
Status SaveModule(const session::Env& env, const graph::Module& module, const char* path,
                  const hr_save_options* options);

}  // namespace hr::capi

// Leaves the function if a pointer that must be given is null.
#define HR_REQUIRE(argument) \
  if ((argument) == nullptr) return ::hr::capi::NullArgument(__func__, #argument)
// Leaves the function if the call is in use; else it is taken until the function ends.
#define HR_USE(call)                                    \
  const ::hr::capi::CallUse hr_use_((call)->rep.get()); \
  if (!hr_use_.taken()) return ::hr::capi::Wrap(::hr::session::Call::Taken())
// As HR_RETURN_IF_ERROR and HR_ASSIGN_OR_RETURN, for functions that return hr_status*.
#define HR_WRAP_IF_ERROR(expr)                                            \
  do {                                                                    \
    ::hr::Status hr_status_ = (expr);                                     \
    if (!hr_status_.ok()) return ::hr::capi::Wrap(std::move(hr_status_)); \
  } while (false)
#define HR_ASSIGN_OR_WRAP(decl, expr) \
  HR_ASSIGN_OR_WRAP_INNER(HR_CONCAT(hr_result_, __LINE__), decl, expr)
#define HR_ASSIGN_OR_WRAP_INNER(result, decl, expr)                      \
  auto result = (expr);                                                  \
  if (!result.ok()) return ::hr::capi::Wrap(std::move(result).status()); \
  decl = result.Take()
