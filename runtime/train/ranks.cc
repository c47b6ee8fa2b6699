#include "runtime/train/ranks.h"

#include "runtime/base/errors.h"

namespace hr::train {

using comm::OpKind;
using comm::ReduceOp;

Status Ranks::Run(const comm::Operation& operation, void* data, const CallLimits& limits) const {
  return alone() ? Status() : group_->Run(operation, data, data, limits);
}

Status Ranks::Largest(std::span<int64_t> numbers, const CallLimits& limits) const {
  return Run({.kind = OpKind::kAllReduce,
              .dtype = DType::kInt64,
              .count = numbers.size(),
              .reduce_op = ReduceOp::kMax},
             numbers.data(), limits);
}

Status Ranks::Sum(std::span<double> numbers, const CallLimits& limits) const {
  return Run({.kind = OpKind::kAllReduce,
              .dtype = DType::kFloat64,
              .count = numbers.size(),
              .reduce_op = ReduceOp::kSum},
             numbers.data(), limits);
}

Result<std::vector<double>> Ranks::Gather(std::span<const double> numbers,
                                          const CallLimits& limits) const {
  std::vector<double> all(numbers.begin(), numbers.end());
  if (alone()) return all;
  all.resize(numbers.size() * static_cast<size_t>(group_->size()));
  HR_RETURN_IF_ERROR(
      group_->Run({.kind = OpKind::kAllGather, .dtype = DType::kFloat64, .count = numbers.size()},
                  numbers.data(), all.data(), limits));
  return all;
}

Status Ranks::Broadcast(int root, std::string* text, const CallLimits& limits) const {
  if (alone()) return {};
  int64_t size[1] = {static_cast<int64_t>(group_->rank() == root ? text->size() : 0)};
  HR_RETURN_IF_ERROR(Largest(size, limits));
  text->resize(static_cast<size_t>(size[0]));
  return Run(
      {.kind = OpKind::kBroadcast, .dtype = DType::kUint8, .count = text->size(), .peer = root},
      text->data(), limits);
}

void Ranks::TellFailure(const Status& status) const {
  if (alone() || !group_->status().ok()) return;
  group_->Abort(Cat("its training failed: ", status.message()));
}

}  // namespace hr::train
