// Kernels that are a list of strided copies, perhaps over a background.
#pragma once

#include <string>
#include <vector>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/strided_copy.h"

namespace hr::cpu {

// One copy from an input to an output of a kernel; offsets are in bytes.
struct Move {
  size_t from, to;
  int64_t from_offset = 0, to_offset = 0;
  CopyPlan plan;
};

// Input 0 to output 0, with the given box and strides; offsets in elements.
Result<Move> MoveOf(const KernelRequest& request, std::span<const int64_t> dims,
                    std::span<const int64_t> to_strides, std::span<const int64_t> from_strides,
                    int64_t to_offset = 0, int64_t from_offset = 0);

// What fills output 0 before the moves.
struct Background {
  static constexpr size_t kNone = SIZE_MAX - 1, kZero = SIZE_MAX;
  size_t value = kNone;  // the input that holds it
  int64_t count = 0;
  size_t element_bytes = 0;
  int ranges = 1;
};
Background BackgroundOf(const KernelRequest& request, size_t value = Background::kZero);

LoweredKernel KernelOf(std::string name, std::vector<Move> moves, Background background = {});

}  // namespace hr::cpu
