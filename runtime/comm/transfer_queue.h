// A queue of transfers linked through themselves: first in, first out, searched by tag or by id.
// Searches run from the front, where the wanted one nearly always is.
#pragma once

#include "runtime/comm/transport.h"

namespace hr::comm {

class TransferQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  Transfer* front() const { return first_; }

  void Push(Transfer& transfer) {
    transfer.next = nullptr;
    *last_ = &transfer;
    last_ = &transfer.next;
  }
  // Each of these takes the transfer out of the queue; null if there is none.
  Transfer* Pop() {
    return TakeIf([](const Transfer&) { return true; });
  }
  Transfer* TakeByTag(uint64_t tag) {
    return TakeIf([tag](const Transfer& t) { return t.tag == tag; });
  }
  Transfer* TakeById(uint32_t id) {
    return TakeIf([id](const Transfer& t) { return t.id == id; });
  }
  bool Remove(const Transfer& transfer) {
    return TakeIf([&](const Transfer& t) { return &t == &transfer; }) != nullptr;
  }
  Transfer* FindById(uint32_t id) const {
    return FindIf([id](const Transfer& t) { return t.id == id; });
  }
  bool Has(const Transfer& transfer) const {
    return FindIf([&](const Transfer& t) { return &t == &transfer; }) != nullptr;
  }
  bool HasTag(uint64_t tag) const {
    return FindIf([tag](const Transfer& t) { return t.tag == tag; }) != nullptr;
  }

  TransferQueue() = default;
  TransferQueue(const TransferQueue&) = delete;

 private:
  template <typename Wanted>
  Transfer* FindIf(Wanted wanted) const {
    Transfer* t = first_;
    while (t != nullptr && !wanted(*t)) t = t->next;
    return t;
  }
  template <typename Wanted>
  Transfer* TakeIf(Wanted wanted) {
    for (Transfer** link = &first_; *link != nullptr; link = &(*link)->next) {
      Transfer* found = *link;
      if (!wanted(*found)) continue;
      *link = found->next;
      if (last_ == &found->next) last_ = link;
      found->next = nullptr;
      return found;
    }
    return nullptr;
  }

  Transfer* first_ = nullptr;
  Transfer** last_ = &first_;
};

inline void Finish(Transfer& transfer, Status status) {
  transfer.status = std::move(status);
  transfer.done(transfer);
}

}  // namespace hr::comm
