#include "runtime/session/variable_store.h"

#include <cstring>

namespace hr::session {

void VariableStore::SetShared(uint32_t variable, Tensor value) {
  tensors_[variable] = std::move(value);
  owned_[variable] = false;
  ++generation_;
}

Status VariableStore::Set(Allocator& allocator, uint32_t variable, const Tensor& value) {
  if (owned_[variable] && value.contiguous()) {
    std::memmove(tensors_[variable].data(), value.data(), value.bytes());
    return {};
  }
  HR_ASSIGN_OR_RETURN(tensors_[variable], value.Clone(allocator));
  owned_[variable] = true;
  ++generation_;
  return {};
}

Status VariableStore::MakeWritable(Allocator& allocator, uint32_t variable) {
  if (owned_[variable]) return {};
  HR_ASSIGN_OR_RETURN(tensors_[variable], tensors_[variable].Clone(allocator));
  owned_[variable] = true;
  ++generation_;
  return {};
}

}  // namespace hr::session
