#include "tools/headrace/comm_options.h"

#include <algorithm>
#include <iterator>

#include "tools/headrace/errors.h"

namespace headrace::tool {
namespace {

// By hr_operation_kind.
constexpr const char* kOperations[] = {"send",    "recv",           "barrier",   "broadcast",
                                       "reduce",  "all_reduce",     "gather",    "all_gather",
                                       "scatter", "reduce_scatter", "all_to_all"};
// By hr_reduce_op.
constexpr const char* kReduceOps[] = {"sum", "product", "min", "max", "average"};
constexpr hr_dtype kDTypes[] = {HR_FLOAT32, HR_FLOAT64, HR_FLOAT16, HR_BFLOAT16,
                                HR_INT8,    HR_INT16,   HR_INT32,   HR_INT64,
                                HR_UINT8,   HR_UINT16,  HR_UINT32,  HR_UINT64};

template <typename Names>
size_t IndexOf(const Names& names, const std::string& name, const char* what) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<size_t>(found - std::begin(names));
  std::string known;
  for (const auto& one : names) known += (known.empty() ? "" : ", ") + std::string(one);
  throw UsageError("there is no " + std::string(what) + " '" + name + "'; there are: " + known);
}

// How many blocks of `count` elements the larger buffer has.
uint64_t BlocksOf(hr_operation_kind kind, int32_t ranks) {
  return HasBlocks(kind) || TakesBlocks(kind) ? static_cast<uint64_t>(ranks) : 1;
}

}  // namespace

hr_operation_kind OperationNamed(const std::string& name) {
  return static_cast<hr_operation_kind>(IndexOf(kOperations, name, "operation"));
}

const char* OperationName(hr_operation_kind kind) { return kOperations[kind]; }

hr_reduce_op ReduceOpNamed(const std::string& name) {
  return static_cast<hr_reduce_op>(IndexOf(kReduceOps, name, "reduction"));
}

hr_dtype DTypeNamed(const std::string& name) {
  std::vector<std::string> names;
  for (hr_dtype dtype : kDTypes) names.emplace_back(hr_dtype_name(dtype));
  return kDTypes[IndexOf(names, name, "element type")];
}

void SizeRange::AddOptions(CLI::App* app) {
  AddText(app, "--min", min, "BYTES", "smallest size (" + min + ")");
  AddText(app, "--max", max, "BYTES", "largest size (" + max + "); K, M, G are powers of 1024");
  AddNumber(app, "--factor", factor, 2, "between two sizes (" + std::to_string(factor) + ")");
}

std::vector<uint64_t> SizeRange::Sizes() const {
  const uint64_t first = ParseBytes(min, "--min"), last = ParseBytes(max, "--max");
  if (first > last) throw UsageError("--min " + min + " is more than --max " + max);
  std::vector<uint64_t> sizes;
  for (uint64_t size = first; size <= last; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) break;
  }
  return sizes;
}

void CommOptions::AddOptions(CLI::App* app, const std::string& about_operations) {
  AddList(app, "--op", operations, "NAME,…", about_operations);
  sizes.AddOptions(app);
  AddText(app, "--dtype", dtype, "NAME", "element type (" + dtype + ")");
  AddText(app, "--transport", transport, "NAME,…", "auto, or e.g. tcp ($HEADRACE_TRANSPORT)");
  AddText(app, "--algorithm", algorithms, "OPERATION=NAME,…", "pins, e.g. all_reduce=ring");
}

hr_group_options CommOptions::Group() const {
  auto given = Sized<hr_group_options>();
  if (!transport.empty()) given.transport = transport.c_str();
  if (!algorithms.empty()) given.algorithms = algorithms.c_str();
  return given;
}

bool HasBlocks(hr_operation_kind kind) {
  return kind == HR_OPERATION_GATHER || kind == HR_OPERATION_ALL_GATHER ||
         kind == HR_OPERATION_ALL_TO_ALL;
}

bool TakesBlocks(hr_operation_kind kind) {
  return kind == HR_OPERATION_SCATTER || kind == HR_OPERATION_REDUCE_SCATTER ||
         kind == HR_OPERATION_ALL_TO_ALL;
}

hr_operation OperationOf(hr_operation_kind kind, hr_dtype dtype, uint64_t bytes, int32_t ranks) {
  auto operation = Sized<hr_operation>();
  operation.kind = kind;
  operation.dtype = kind == HR_OPERATION_BARRIER ? HR_UINT8 : dtype;
  if (kind == HR_OPERATION_BARRIER) return operation;
  operation.count = std::max<uint64_t>(1, bytes / hr_dtype_size(dtype) / BlocksOf(kind, ranks));
  return operation;
}

uint64_t BytesOf(const hr_operation& operation, int32_t ranks) {
  return operation.count * hr_dtype_size(operation.dtype) * BlocksOf(operation.kind, ranks);
}

}  // namespace headrace::tool
