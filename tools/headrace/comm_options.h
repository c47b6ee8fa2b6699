// What the commands about communication have in common: names of operations, sizes, groups.
#pragma once

#include <string>
#include <vector>

#include "tools/headrace/flags.h"
#include "tools/headrace/library.h"

namespace headrace::tool {

// "all_reduce"; throw UsageError that lists the known ones.
hr_operation_kind OperationNamed(const std::string& name);
hr_dtype DTypeNamed(const std::string& name);
hr_reduce_op ReduceOpNamed(const std::string& name);
const char* OperationName(hr_operation_kind kind);

// The sizes that --min, --max and --factor ask for.
struct SizeRange {
  std::string min = "8", max = "64M";
  uint64_t factor = 4;

  void AddOptions(CLI::App* app);
  std::vector<uint64_t> Sizes() const;  // throws UsageError
};

// What --op, --dtype, --transport, --algorithm and the sizes ask for.
struct CommOptions {
  std::vector<std::string> operations;
  std::string dtype = "float32", transport, algorithms;
  SizeRange sizes;

  void AddOptions(CLI::App* app, const std::string& about_operations);
  // For a group of the launcher's; refers to these options.
  hr_group_options Group() const;
};

// Whether the output, or the input, holds a block for each rank.
bool HasBlocks(hr_operation_kind kind);
bool TakesBlocks(hr_operation_kind kind);

// Bytes of data as nccl-tests counts them: of the larger one of input and output, which of a gather
// and its kind hold a block for each rank. An operation on that many bytes, or as many as whole
// elements and equal blocks allow.
hr_operation OperationOf(hr_operation_kind kind, hr_dtype dtype, uint64_t bytes, int32_t ranks);
uint64_t BytesOf(const hr_operation& operation, int32_t ranks);

}  // namespace headrace::tool
