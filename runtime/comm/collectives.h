// What graphs post operations to: a group of processes, or something that stands in for one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/base/cancel.h"
#include "runtime/comm/operation.h"
#include "runtime/device/tensor.h"

namespace hr {
class Stream;
}

namespace hr::comm {

// Memory that an operation reads or writes.
struct Memory {
  void* data = nullptr;  // null if this rank needs none
  DeviceId device = {};
  void* registration = nullptr;  // what the group's library made of it beforehand; null: nothing
};

// All ranks post the same operations in the same order. One thread at a time uses an object, but
// for Abort and status.
class Collectives {
 public:
  // An operation in flight. Complete ends it; it is not copied.
  struct Ticket {
    void* work = nullptr;
    bool native = false;  // of a group that consists of two: it is not the library's own part's
  };

  // Who moves the data of an operation before Complete is called: the caller, by Test, between
  // short things that it does meanwhile; or a thread of the group, because these take long.
  enum class Driver { kCaller, kGroup };

  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Starts an operation. Its memory is in use until Complete returns; `input` is only read. The
  // operation begins after what is queued on `stream`, and what is queued there later comes after
  // it; null: it begins at once. UNIMPLEMENTED if the group does not reach such memory. In the
  // steady state it allocates nothing.
  virtual Result<Ticket> Post(const Operation& operation, Memory input, Memory output,
                              Stream* stream, Driver driver) = 0;
  // The same on memory of the host.
  Result<Ticket> Post(const Operation& operation, const void* input, void* output, Driver driver) {
    return Post(operation, {.data = const_cast<void*>(input)}, {.data = output}, nullptr, driver);
  }
  // Moves data that can be moved now, without waiting; returns whether the operation has ended.
  virtual bool Test(Ticket& ticket) = 0;
  // Waits for the end and returns the result. The memory is free afterwards in every case: limits
  // that end the wait end the operation, too, and with it the group.
  virtual Status Complete(Ticket ticket, const CallLimits& limits) = 0;
  // Nanoseconds that Complete has waited so far, in all.
  virtual int64_t waited_nanos() const { return 0; }
  // Both, on memory of the host: starts an operation and waits for its end.
  Status Run(const Operation& operation, const void* input, void* output,
             const CallLimits& limits) {
    HR_ASSIGN_OR_RETURN(const Ticket ticket, Post(operation, input, output, Driver::kCaller));
    return Complete(ticket, limits);
  }
  // Ends the group on all ranks, which report `cause`.
  virtual void Abort(std::string cause) = 0;
  // Returns OK, or why the group has ended.
  virtual Status status() const = 0;
};

// Returns the group by its name, of those that a run may use. The object outlives the run.
class GroupTable {
 public:
  virtual ~GroupTable() = default;
  // Returns null if there is no such group.
  virtual Collectives* Find(std::string_view name) const = 0;
};

}  // namespace hr::comm
