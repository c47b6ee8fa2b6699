#include "runtime/session/variable_store.h"

#include <algorithm>
#include <cstring>

namespace hr::session {

void VariableStore::SetInitial(uint32_t variable, Tensor value) {
  tensors_[variable] = std::move(value);
}

void VariableStore::SetOwned(uint32_t variable, Tensor value) {
  initial_.store(false, std::memory_order_release);
  tensors_[variable] = std::move(value);
  owned_[variable] = true;
  ++generation_;
  ++version_;
  TakeHome(variable);
}

Status VariableStore::Set(Allocator& allocator, uint32_t variable, const Tensor& value) {
  if (owned_[variable] && value.contiguous()) {
    std::memmove(tensors_[variable].data(), value.data(), value.bytes());
    ++version_;
    TakeHome(variable);
    return {};
  }
  HR_ASSIGN_OR_RETURN(auto&& copy, value.Clone(allocator));
  SetOwned(variable, std::move(copy));
  return {};
}

Status VariableStore::MakeWritable(Allocator& allocator, uint32_t variable) {
  if (owned_[variable]) return {};
  initial_.store(false, std::memory_order_release);
  HR_ASSIGN_OR_RETURN(auto&& copy, tensors_[variable].Clone(allocator));
  tensors_[variable].Forget();
  tensors_[variable] = std::move(copy);
  owned_[variable] = true;
  ++generation_;
  return {};
}

void VariableStore::NotReadAgain(const void* data) const {
  const auto variable = std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) {
    return tensor.defined() && tensor.data() == data;
  });
  if (variable != tensors_.end()) variable->Forget();
}

void VariableStore::TakeHome(uint32_t variable) {
  if (device_of(variable) == nullptr) return;
  Remote& remote = remotes_[variable];
  if (remote.current) ++generation_;
  remote.current = false;
  remote.host_current = true;
}

static Status CopyTensor(Device& device, void* to, const void* from, size_t bytes, CopyKind kind) {
  return device.Copy(to, from, bytes, kind, nullptr).WithContext(device.info().name);
}

Status VariableStore::Fetch(Allocator& allocator, uint32_t variable) {
  if (device_of(variable) == nullptr || remotes_[variable].host_current) return {};
  Remote& remote = remotes_[variable];
  HR_RETURN_IF_ERROR(MakeWritable(allocator, variable));
  const Tensor& tensor = tensors_[variable];
  HR_RETURN_IF_ERROR(CopyTensor(*remote.device, tensor.data(), remote.memory.data(), tensor.bytes(),
                                CopyKind::kDeviceToHost));
  remote.host_current = true;
  ++generation_;  // who writes it on the device has to say so again
  return {};
}

Status VariableStore::Send(uint32_t variable, Device* device) {
  Remote& remote = remotes_[variable];
  const Tensor& tensor = tensors_[variable];
  if (remote.device != device || remote.memory.bytes() != tensor.bytes()) {
    HR_ASSIGN_OR_RETURN(remote.memory, Block::Create(device->allocator(), tensor.bytes()));
    remote.device = device;
    remote.current = false;
  }
  if (remote.current) return {};
  HR_RETURN_IF_ERROR(CopyTensor(*device, remote.memory.data(), tensor.data(), tensor.bytes(),
                                CopyKind::kHostToDevice));
  remote.current = true;
  ++generation_;
  return {};
}

Status VariableStore::BringHome(Allocator& allocator) {
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < remotes_.size(); ++i) HR_RETURN_IF_ERROR(Fetch(allocator, i));
  return {};
}

Result<void*> VariableStore::Locate(Allocator& allocator, uint32_t variable, Device* device,
                                    bool writes) {
  std::lock_guard lock(mutex_);
  if (device == nullptr) {
    HR_RETURN_IF_ERROR(Fetch(allocator, variable));
    if (writes) {
      HR_RETURN_IF_ERROR(MakeWritable(allocator, variable));
      TakeHome(variable);
    }
    return static_cast<void*>(tensors_[variable].data());
  }
  if (remotes_.empty()) remotes_.resize(tensors_.size());
  if (writes) initial_.store(false, std::memory_order_release);
  Remote& remote = remotes_[variable];
  if (remote.device != device) HR_RETURN_IF_ERROR(Fetch(allocator, variable));
  HR_RETURN_IF_ERROR(Send(variable, device));
  if (writes && remote.host_current) {
    remote.host_current = false;
    ++generation_;
  }
  return remote.memory.data();
}

}  // namespace hr::session
