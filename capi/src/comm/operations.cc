// The operations of a group. Nothing here allocates or handles text unless something fails.
#include "capi/src/comm/handles.h"

namespace hr::capi {
namespace {

using comm::Operation;
using comm::OpKind;

hr_status* NoGroup(OpKind kind, const char* what) {
  return Wrap(InvalidArgument("hr_", comm::OpKindName(kind), ": '", what, "' must not be NULL"));
}

hr_status* Start(hr_group* group, const Operation& operation, const void* input, void* output,
                 hr_work** out) {
  if (group == nullptr) return NoGroup(operation.kind, "group");
  if (out == nullptr) return NoGroup(operation.kind, "out");
  Result<comm::WorkRef> work = group->rep->Post(operation, input, output);
  if (!work.ok()) return Wrap(std::move(work).status());
  *out = ToHandle(std::move(work).value());
  return nullptr;
}

hr_status* Run(hr_group* group, const Operation& operation, const void* input, void* output,
               const hr_limits* limits) {
  if (group == nullptr) return NoGroup(operation.kind, "group");
  if (limits != nullptr) HR_WRAP_IF_ERROR(CopySized(limits, "hr_limits").status().Clone());
  if (group->rep->PassShort(operation, input, output)) return nullptr;
  Result<comm::WorkRef> posted = group->rep->PostAndPoll(operation, input, output);
  if (!posted.ok()) return Wrap(std::move(posted).status());
  comm::Work& work = **posted;
  if (!work.done()) {
    HR_ASSIGN_OR_WRAP(auto inner, CommLimits(limits, work.options()));
    return Wrap(work.Complete(inner));
  }
  return work.status().ok() ? nullptr : Wrap(work.status().Clone());
}

Operation Of(OpKind kind, hr_dtype dtype, uint64_t count) {
  return {.kind = kind, .dtype = static_cast<DType>(dtype), .count = count};
}

Operation Rooted(OpKind kind, hr_dtype dtype, uint64_t count, int32_t root) {
  Operation operation = Of(kind, dtype, count);
  operation.peer = root;
  return operation;
}

Operation Reducing(OpKind kind, hr_dtype dtype, uint64_t count, hr_reduce_op op, int32_t root = 0) {
  Operation operation = Rooted(kind, dtype, count, root);
  operation.reduce_op = static_cast<comm::ReduceOp>(op);
  return operation;
}

Operation Message(OpKind kind, hr_dtype dtype, uint64_t count, int32_t peer, uint32_t tag) {
  Operation operation = Rooted(kind, dtype, count, peer);
  operation.tag = tag;
  return operation;
}

Operation General(const hr_operation& given) {
  Operation operation =
      Message(static_cast<OpKind>(given.kind), given.dtype, given.count, given.peer, given.tag);
  operation.reduce_op = static_cast<comm::ReduceOp>(given.op);
  operation.factor = given.factor;
  return operation;
}

}  // namespace
}  // namespace hr::capi

using namespace hr::capi;  // NOLINT: this file is nothing but its use

extern "C" {

// Each operation twice: NAME waits, NAME_start does not.
#define HR_DEFINE_OPERATION(name, operation, input, output, ...) \
  hr_status* hr_##name(__VA_ARGS__, const hr_limits* limits) {   \
    return Run(group, operation, input, output, limits);         \
  }                                                              \
  hr_status* hr_##name##_start(__VA_ARGS__, hr_work** out) {     \
    return Start(group, operation, input, output, out);          \
  }

HR_DEFINE_OPERATION(send, Message(OpKind::kSend, dtype, count, to, tag), data, nullptr,
                    hr_group* group, const void* data, uint64_t count, hr_dtype dtype, int32_t to,
                    uint32_t tag)
HR_DEFINE_OPERATION(recv, Message(OpKind::kRecv, dtype, count, from, tag), nullptr, data,
                    hr_group* group, void* data, uint64_t count, hr_dtype dtype, int32_t from,
                    uint32_t tag)
HR_DEFINE_OPERATION(barrier, Operation(), nullptr, nullptr, hr_group* group)
HR_DEFINE_OPERATION(broadcast, Rooted(OpKind::kBroadcast, dtype, count, root), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, int32_t root)
HR_DEFINE_OPERATION(reduce, Reducing(OpKind::kReduce, dtype, count, op, root), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, hr_reduce_op op, int32_t root)
HR_DEFINE_OPERATION(all_reduce, Reducing(OpKind::kAllReduce, dtype, count, op), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, hr_reduce_op op)
HR_DEFINE_OPERATION(gather, Rooted(OpKind::kGather, dtype, count, root), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, int32_t root)
HR_DEFINE_OPERATION(all_gather, Of(OpKind::kAllGather, dtype, count), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype)
HR_DEFINE_OPERATION(scatter, Rooted(OpKind::kScatter, dtype, count, root), input, output,
                    hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, int32_t root)
HR_DEFINE_OPERATION(reduce_scatter, Reducing(OpKind::kReduceScatter, dtype, count, op), input,
                    output, hr_group* group, const void* input, void* output, uint64_t count,
                    hr_dtype dtype, hr_reduce_op op)
HR_DEFINE_OPERATION(all_to_all, Of(OpKind::kAllToAll, dtype, count), input, output, hr_group* group,
                    const void* input, void* output, uint64_t count, hr_dtype dtype)
#undef HR_DEFINE_OPERATION

hr_status* hr_group_start(hr_group* group, const hr_operation* operation, hr_work** out) {
  HR_REQUIRE(operation);
  HR_ASSIGN_OR_WRAP(hr_operation given, CopySized(operation, "hr_operation"));
  return Start(group, General(given), given.input, given.output, out);
}

hr_status* hr_group_run(hr_group* group, const hr_operation* operation, const hr_limits* limits) {
  HR_REQUIRE(operation);
  HR_ASSIGN_OR_WRAP(hr_operation given, CopySized(operation, "hr_operation"));
  return Run(group, General(given), given.input, given.output, limits);
}

hr_status* hr_group_explain(hr_group* group, const hr_operation* operation, hr_text** out) {
  HR_REQUIRE(group);
  HR_REQUIRE(operation);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(hr_operation given, CopySized(operation, "hr_operation"));
  HR_ASSIGN_OR_WRAP(std::string text, group->rep->Explain(General(given)));
  return WrapText(out, std::move(text));
}

}  // extern "C"
