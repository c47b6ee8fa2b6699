#include "runtime/train/weights_file.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/data/npy.h"
#include "runtime/train/npz_writer.h"
#include "runtime/train/safetensors.h"

namespace hr::train {
namespace {

bool IsSafetensors(std::string_view path) { return path.ends_with(".safetensors"); }
bool IsNpz(std::string_view path) { return path.ends_with(".npz"); }

Bytes BytesOf(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

Result<std::vector<NamedWeight>> ReadSafetensors(const BufferRef& file, const std::string& path,
                                                 Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(auto&& entries, ParseSafetensors({file->data(), file->bytes()}, path));
  std::vector<NamedWeight> out;
  for (TensorEntry& entry : entries) {
    HR_ASSIGN_OR_RETURN(auto&& tensor, TensorAt(file, entry, allocator));
    out.push_back({std::move(entry.name), std::move(tensor)});
  }
  return out;
}

void SwapBytes(const Tensor& tensor) {
  const size_t size = DTypeSize(tensor.dtype());
  for (size_t at = 0; at < tensor.bytes(); at += size) {
    std::reverse(tensor.data() + at, tensor.data() + at + size);
  }
}

// The elements dense and aligned, in rows and in this machine's order of bytes.
Result<Tensor> Plain(const data::NpyArray& array, Allocator& allocator) {
  const Tensor& tensor = array.tensor;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data());
  const bool aligned = address % DTypeSize(tensor.dtype()) == 0;
  if (!array.swap && aligned) return tensor.Contiguous(allocator);
  HR_ASSIGN_OR_RETURN(auto&& copy, tensor.Clone(allocator));
  if (array.swap) SwapBytes(copy);
  return std::move(copy);
}

Result<std::vector<NamedWeight>> ReadNpz(const BufferRef& file, const std::string& path,
                                         Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(auto&& arrays, data::ReadNpz(file, {}, path, allocator));
  std::vector<NamedWeight> out;
  for (data::NpzArray& array : arrays) {
    HR_ASSIGN_OR_RETURN(auto&& tensor, Plain(array.array, allocator));
    out.push_back({std::move(array.name), std::move(tensor)});
  }
  return out;
}

Status WriteSafetensors(std::span<const NamedWeight> weights, const CallLimits& limits,
                        FileWriter& writer) {
  std::vector<TensorEntry> entries;
  for (const NamedWeight& weight : weights) {
    entries.push_back({.name = weight.name,
                       .dtype = weight.tensor.dtype(),
                       .dims = weight.tensor.dims(),
                       .bytes = static_cast<int64_t>(weight.tensor.bytes())});
  }
  HR_ASSIGN_OR_RETURN(const std::string header, EncodeSafetensorsHeader(entries));
  HR_RETURN_IF_ERROR(writer.Write(AsBytes(header)));
  for (const NamedWeight& weight : weights) {
    HR_RETURN_IF_ERROR(limits.Check());
    HR_RETURN_IF_ERROR(writer.Write(BytesOf(weight.tensor)));
  }
  return {};
}

Status WriteNpz(std::span<const NamedWeight> weights, const CallLimits& limits,
                FileWriter& writer) {
  NpzWriter npz(writer);
  for (const NamedWeight& weight : weights) {
    HR_RETURN_IF_ERROR(limits.Check());
    HR_RETURN_IF_ERROR(npz.Add(weight.name, weight.tensor));
  }
  return npz.Finish();
}

}  // namespace

Status CheckWeightsEnding(std::string_view path) {
  if (IsSafetensors(path) || IsNpz(path)) return {};
  return InvalidArgument("weights are in files that end in .safetensors or .npz, not in '", path,
                         "'");
}

Result<std::vector<NamedWeight>> ReadWeights(const std::string& path, Allocator& allocator) {
  HR_RETURN_IF_ERROR(CheckWeightsEnding(path));
  HR_ASSIGN_OR_RETURN(const BufferRef file, MapFile(path));
  return IsNpz(path) ? ReadNpz(file, path, allocator) : ReadSafetensors(file, path, allocator);
}

Status WriteWeights(const std::string& path, std::span<const NamedWeight> weights,
                    const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWeightsEnding(path));
  return WriteFileAtomically(path, [&](FileWriter& writer) {
    return IsNpz(path) ? WriteNpz(weights, limits, writer)
                       : WriteSafetensors(weights, limits, writer);
  });
}

}  // namespace hr::train
