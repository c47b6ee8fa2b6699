#include "runtime/session/variable_store.h"

#include <cstring>

namespace hr::session {

void VariableStore::SetShared(uint32_t variable, Tensor value) {
  tensors_[variable] = std::move(value);
  owned_[variable] = false;
  ++generation_;
  ++version_;
}

void VariableStore::SetOwned(uint32_t variable, Tensor value) {
  SetShared(variable, std::move(value));
  owned_[variable] = true;
}

Status VariableStore::Set(Allocator& allocator, uint32_t variable, const Tensor& value) {
  if (owned_[variable] && value.contiguous()) {
    std::memmove(tensors_[variable].data(), value.data(), value.bytes());
    ++version_;
    return {};
  }
  HR_ASSIGN_OR_RETURN(auto&& copy, value.Clone(allocator));
  SetOwned(variable, std::move(copy));
  return {};
}

Status VariableStore::MakeWritable(Allocator& allocator, uint32_t variable) {
  if (owned_[variable]) return {};
  return Set(allocator, variable, tensors_[variable]);
}

}  // namespace hr::session
