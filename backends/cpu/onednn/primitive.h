// A oneDNN primitive that several threads may execute at one time, each for itself.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/onednn/library.h"

namespace hr::cpu::onednn {

// A matrix or tensor of floats where it lies: dims and strides in elements.
Result<MemoryDesc> Strided(std::span<const int64_t> dims, std::span<const int64_t> strides);
// The same with a layout that the primitive chooses.
Result<MemoryDesc> AnyLayout(std::span<const int64_t> dims);

// The layout in words: equal where memory of one serves as the other.
std::string LayoutText(const_dnnl_memory_desc_t layout);

// Attributes of every primitive here: scratch memory comes from us.
Result<Attributes> MakeAttributes();

class Primitive {
 public:
  // Which memory (DNNL_ARG_SRC, …), and how it is laid out.
  struct Argument {
    int index;
    const_dnnl_memory_desc_t layout;
  };

  // `arguments` without the scratchpad. At most `concurrency` threads execute it at one time
  // without waiting for each other. Unimplemented where oneDNN only has its slow reference code.
  static Result<Primitive> Create(const Library& library, const_dnnl_primitive_desc_t desc,
                                  std::span<const Argument> arguments, int concurrency);
  // One that copies memory from a layout to another one.
  static Result<Primitive> Reorder(const Library& library, const_dnnl_memory_desc_t from,
                                   const_dnnl_memory_desc_t to, int concurrency);

  size_t scratch_bytes() const { return scratch_bytes_; }
  // `memory` in the order of the arguments; `scratch` is aligned to 64 bytes. The caller has a
  // SerialScope. Allocates nothing but what oneDNN does by itself: a few records of arguments.
  Status Execute(std::span<void* const> memory, void* scratch) const;

 private:
  // What one execution sets and passes; taken and given back by those who execute.
  struct Frame {
    std::atomic<bool> taken = false;
    Stream stream;
    std::vector<Memory> memory;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  Status AddFrames(const Library& library, std::span<const Argument> arguments, int count);
  Frame& Take() const;

  PrimitiveHandle primitive_;
  size_t scratch_bytes_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace hr::cpu::onednn
