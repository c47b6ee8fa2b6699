#include "backends/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/partition.h"
#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockBytes = 2048;      // of a register: sixteen fit the first-level cache
constexpr int64_t kSliceCost = 16 * 1024;  // additions that are worth waking a thread

// Copies elements that lie `stride` elements apart.
template <typename T>
void CopyStrided(const T* x, int64_t stride, int64_t count, T* y) {
  if (stride == 0) {
    std::fill_n(y, count, *x);
  } else if (stride == 1) {
    std::copy_n(x, count, y);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
  }
}

// Gathers elements [begin, begin + count) of a broadcast operand, in the order of the output. Rows
// that follow each other in the innermost two dimensions need no divisions.
template <typename T>
void GatherElements(const Dims& dims, const Dims& strides, const T* data, int64_t begin,
                    int64_t count, T* to) {
  const auto inner = dims.size() - 1;
  const int64_t row = dims[inner];
  while (count > 0) {
    int64_t rest = begin / row, at = begin % row, rows = 1, step = 0;
    if (inner > 0) rows = dims[inner - 1] - rest % dims[inner - 1], step = strides[inner - 1];
    const T* from = data;
    for (size_t i = inner; i-- > 0; rest /= dims[i]) from += rest % dims[i] * strides[i];
    for (; rows > 0 && count > 0; --rows, from += step, at = 0) {
      const int64_t run = std::min(count, row - at);
      CopyStrided(from + at * strides[inner], strides[inner], run, to);
      begin += run;
      count -= run;
      to += run;
    }
  }
}

// Calls visit(T{}) with an integer of `size` bytes.
template <typename Visit>
void VisitSize(int64_t size, Visit visit) {
  switch (size) {
    case 1: return visit(uint8_t{});
    case 2: return visit(uint16_t{});
    case 4: return visit(uint32_t{});
    default: return visit(uint64_t{});
  }
}

void Repeat(const char* element, int64_t count, int64_t size, char* to) {
  VisitSize(size, [=](auto value) {
    using T = decltype(value);
    std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(element));
  });
}

void Gather(const Dims& dims, const Dims& strides, const char* data, int64_t size, int64_t begin,
            int64_t count, char* to) {
  VisitSize(size, [&](auto value) {
    using T = decltype(value);
    GatherElements(dims, strides, reinterpret_cast<const T*>(data), begin, count,
                   reinterpret_cast<T*>(to));
  });
}

// Joins neighbouring dimensions that one stride walks through, and drops those of 1.
void Collapse(std::span<const int64_t> dims, std::span<const int64_t> strides, Dims& out_dims,
              Dims& out_strides) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!out_dims.empty() && out_strides.back() == strides[i] * dims[i]) {
      out_dims.back() *= dims[i];
      out_strides.back() = strides[i];
    } else {
      out_dims.push_back(dims[i]);
      out_strides.push_back(strides[i]);
    }
  }
}

}  // namespace

ElementLayout ElementLayout::Strided(std::span<const int64_t> dims,
                                     std::span<const std::span<const int64_t>> strides) {
  ElementLayout layout;
  layout.count_ = ElementCount(dims);
  for (std::span<const int64_t> one : strides) {
    Input input{.access = Access::kStrided, .dims = {}, .strides = {}};
    Collapse(dims, one, input.dims, input.strides);
    if (input.dims.empty() || (input.dims.size() == 1 && input.strides[0] == 0)) {
      input.access = Access::kScalar;
    } else if (input.dims.size() == 1 && input.strides[0] == 1) {
      input.access = Access::kContiguous;
    }
    layout.inputs_.push_back(std::move(input));
  }
  return layout;
}

Result<ElementLayout> ElementLayout::Make(std::span<const int64_t> dims,
                                          std::span<const std::span<const int64_t>> input_dims) {
  std::vector<Dims> strides;
  for (std::span<const int64_t> input : input_dims) {
    Dims own = ContiguousStrides(input);
    Dims all(dims.size(), 0);
    const size_t added = dims.size() - std::min(dims.size(), input.size());
    bool fits = input.size() <= dims.size();
    for (size_t i = 0; fits && i < input.size(); ++i) {
      fits = input[i] == dims[added + i] || input[i] == 1;
      all[added + i] = input[i] == 1 ? 0 : own[i];
    }
    if (!fits) {
      return InvalidArgument("an element-wise operand of shape ", ShapeText(input),
                             " does not broadcast to ", ShapeText(dims));
    }
    strides.push_back(std::move(all));
  }
  std::vector<std::span<const int64_t>> views(strides.begin(), strides.end());
  return Strided(dims, views);
}

// One slice of a run, block by block.
class ElementRun {
 public:
  ElementRun(const ElementProgram& program, const ElementLayout& layout,
             std::span<const void* const> inputs, std::span<void* const> outputs)
      : program_(program),
        layout_(layout),
        inputs_(inputs),
        outputs_(outputs),
        size_(SizeOf(program.type_)) {}

  static int64_t BlockElements(const ElementProgram& program) {
    return kBlockBytes / SizeOf(program.type_);
  }
  static int Tasks(const ElementProgram& program, int64_t count, int slices) {
    return static_cast<int>(std::clamp<int64_t>(count * program.cost_ / kSliceCost, 1, slices));
  }

  void Run(int64_t begin, int64_t end) {
    const int64_t block = BlockElements(program_);
    FillConstants(std::min(block, end - begin));
    for (int64_t i = begin; i < end; i += block) RunBlock(i, std::min(block, end - i));
  }

 private:
  char* Memory(int reg) { return registers_ + reg * kBlockBytes; }

  void FillConstants(int64_t count) {
    for (const auto& constant : program_.constants_) {
      char* memory = Memory(constant.reg);
      Repeat(constant.bits, count, size_, memory);
      value_[constant.reg] = memory;
    }
    for (size_t i = 0; i < program_.inputs_.size(); ++i) {
      if (layout_.inputs_[i].access != ElementLayout::Access::kScalar) continue;
      const auto& input = program_.inputs_[i];
      alignas(8) char element[8];
      const void* data = inputs_[i];
      if (input.load) {
        input.load(data, element, 1);
        data = element;
      }
      char* memory = Memory(input.reg);
      Repeat(static_cast<const char*>(data), count, size_, memory);
      value_[input.reg] = memory;
    }
  }

  void LoadInputs(int64_t begin, int64_t count) {
    for (size_t i = 0; i < program_.inputs_.size(); ++i) {
      const auto& input = program_.inputs_[i];
      const auto& layout = layout_.inputs_[i];
      if (layout.access == ElementLayout::Access::kScalar) continue;
      const char* data = static_cast<const char*>(inputs_[i]);
      char* memory = Memory(input.reg);
      alignas(8) char gathered[kBlockBytes * 2];
      if (layout.access == ElementLayout::Access::kContiguous) {
        data += begin * input.size;
      } else {
        char* to = input.load ? gathered : memory;
        Gather(layout.dims, layout.strides, data, input.size, begin, count, to);
        data = to;
      }
      if (input.load) {
        input.load(data, memory, count);
        data = memory;
      }
      value_[input.reg] = data;
    }
  }

  void Execute(const ElementProgram::Instruction& instruction, int64_t begin, int64_t count) {
    const void* in[3] = {value_[instruction.in[0]], value_[instruction.in[1]],
                         value_[instruction.in[2]]};
    void* out = Memory(instruction.out);
    if (instruction.output >= 0) {
      out = static_cast<char*>(outputs_[static_cast<size_t>(instruction.output)]) + begin * size_;
    }
    instruction.loop(in, out, count);
    if (instruction.narrow) {
      alignas(8) char narrow[kBlockBytes];
      instruction.narrow(out, narrow, count);
      instruction.widen(narrow, out, count);
    }
    value_[instruction.out] = out;
  }

  void RunBlock(int64_t begin, int64_t count) {
    LoadInputs(begin, count);
    for (const auto& instruction : program_.instructions_) Execute(instruction, begin, count);
    for (size_t i = 0; i < program_.outputs_.size(); ++i) {
      const auto& output = program_.outputs_[i];
      if (output.store == nullptr) continue;
      output.store(value_[output.reg], static_cast<char*>(outputs_[i]) + begin * output.size,
                   count);
    }
  }

  const ElementProgram& program_;
  const ElementLayout& layout_;
  const std::span<const void* const> inputs_;
  const std::span<void* const> outputs_;
  const int64_t size_;
  const void* value_[ElementProgram::kMaxRegisters];
  alignas(64) char registers_[ElementProgram::kMaxRegisters * kBlockBytes];
};

void RunElementProgram(const Lease& threads, const ElementProgram& program,
                       const ElementLayout& layout, std::span<const void* const> inputs,
                       std::span<void* const> outputs, int slices) {
  const int64_t count = layout.count();
  if (count == 0) return;
  const int tasks = ElementRun::Tasks(program, count, slices);
  const int64_t block = ElementRun::BlockElements(program), blocks = CeilDiv(count, block);
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(blocks, tasks, task);
    ElementRun(program, layout, inputs, outputs)
        .Run(part.begin * block, std::min(count, part.end * block));
  });
}

}  // namespace hr::cpu
