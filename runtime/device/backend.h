// The region level: what a session sees of a backend, and what a plugin's table exports.
//
// A region is the part of a plan that one device runs: a graph::Module whose types are all concrete
// and which has one signature. Its buffers are numbered slots, in this order: the signature's
// inputs, the constants, the variables, the signature's outputs. The module never carries the bytes
// of constants or variables for a backend behind a plugin; a backend in the same process may read
// constants through the module.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/errors.h"
#include "runtime/base/executor.h"
#include "runtime/base/log.h"
#include "runtime/device/arena_pool.h"
#include "runtime/device/run_recorder.h"
#include "runtime/device/tensor.h"

namespace hr {

namespace graph {
struct Module;
}
namespace ops {
class OpRegistry;
}
namespace comm {
class GroupTable;
}

// A mark in a stream. Thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool Done() = 0;
  virtual Status Synchronize(const CallLimits& limits) = 0;
  virtual void* native_handle() { return nullptr; }  // e.g. cudaEvent_t
};

// A queue of work on one device, executed in order. Used by one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void* native_handle() { return nullptr; }  // e.g. cudaStream_t
  virtual Status Record(Event& event) = 0;
  virtual Status Wait(Event& event) = 0;
  virtual Status Synchronize(const CallLimits& limits) = 0;
};

// Whose memory is bound to the slots of variables. Any thread of a run may call it.
class VariableMemory {
 public:
  // What begins at `data` is not read again until variables change.
  virtual void NotReadAgain(const void* data) const = 0;

 protected:
  ~VariableMemory() = default;
};

// What one run gives its kernels. Outlives the run; shared by all its threads.
struct RunContext {
  const Lease& threads;
  const CallLimits* limits = &kNoLimits;
  uint64_t seed = 0;  // of the session
  int64_t step = 0;   // counts the session's runs that draw random numbers or write variables
  // Grows whenever variables may have changed, so that what was made of them beforehand is made
  // again; always 0 in runs that write variables. The same for runs of one executable at one time.
  uint64_t variables_version = 0;
  Stream* stream = nullptr;
  // Set when the first variable is about to be written: from then on cancel is ignored, and a
  // failure leaves variables half updated.
  bool* update_begun = nullptr;
  RunRecorder* recorder = nullptr;            // is told of the steps
  const comm::GroupTable* groups = nullptr;   // of steps that communicate
  const VariableMemory* variables = nullptr;  // is told of memory that can be given back
  // Lends working memory to runs whose work is done when they return; null: each instance has its
  // own.
  ArenaPool* arenas = nullptr;
};

class Executable;

// One instance of an executable. Used by one thread at a time.
class Invocation {
 public:
  virtual ~Invocation() = default;
  // The memory of a slot until the next Bind of it; 64-byte aligned unless the slot is an input.
  virtual void Bind(uint32_t slot, void* data) = 0;
  // All slots must be bound. Where `context.stream` is given the work is only queued.
  virtual Status Run(const RunContext& context) = 0;
  // Goes on as an instance of `other`, the same executable at other sizes (Executable::Resize). It
  // needs more memory from then on only where `other` needs more than any before. What was bound
  // stays bound. A failure changes nothing.
  virtual Status SwitchTo(Executable&) {
    return Unimplemented("an instance on this device keeps its sizes; make a new one");
  }
};

// A compiled region. Thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual Result<std::unique_ptr<Invocation>> Instantiate() = 0;
  // The same region at other sizes: `region` differs from what was compiled in the types of values
  // and in what constants hold, and in nothing else. Null unless the device shares work and memory
  // between sizes and CompileOptions::resizable asked for it.
  virtual Result<std::unique_ptr<Executable>> Resize(const graph::Module&) {
    return std::unique_ptr<Executable>();
  }
  virtual size_t arena_bytes() const = 0;
  // Whether its invocations tell RunContext::recorder of their steps; whoever runs one that does
  // not may report it as a single step.
  virtual bool ReportsSteps() const { return false; }
  // Steps, kernels and memory, as JSON.
  virtual std::string Describe() const = 0;
};

struct CompileOptions {
  Allocator* allocator = nullptr;
  const ops::OpRegistry* operators = nullptr;  // the env's, custom operators included
  LogSink* log = nullptr;
  int threads = 1;  // how finely kernels cut their work
  bool fuse = true;
  bool deterministic = true;
  bool exact_sums = false;  // no algorithm that trades accuracy for speed (Winograd's)
  bool resizable = false;   // keep what Executable::Resize needs
  // Verify that steps read only what was written for them, and overwrite memory that is dead.
  bool check_memory = false;
  // The most bytes that the arena may have: values are computed again where they would need more.
  // 0: no limit.
  size_t memory_limit = 0;
  std::string pin;  // hr_session_options.pin
};

struct DeviceInfo {
  DeviceId id;
  std::string name;         // "CPU:0"
  std::string description;  // of the hardware
  int64_t memory_bytes = 0;
};

// The codes are the plugins' (hr_plugin_copy_kind).
enum class CopyKind : int { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };

// One device of a backend. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual Allocator& allocator() = 0;
  // Between this device's memory and the host's, or within this device's.
  virtual Status Copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) = 0;
  virtual Result<std::unique_ptr<Stream>> CreateStream() = 0;
  virtual Result<std::unique_ptr<Event>> CreateEvent() = 0;
  // For each node of the region's main graph, whether this device takes it. Nodes stand in
  // topological order.
  virtual Result<std::vector<char>> Supports(const graph::Module& region) = 0;
  // Whether it multiplies bfloat16 as it is, so that weights of it are not to be widened.
  virtual bool MultipliesBfloat16() const { return false; }
  virtual Result<std::unique_ptr<Executable>> Compile(const graph::Module& region,
                                                      const CompileOptions& options) = 0;
};

// A family of devices: "cpu", "cuda", or a plugin's.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::span<const std::unique_ptr<Device>> devices() = 0;
};

}  // namespace hr
