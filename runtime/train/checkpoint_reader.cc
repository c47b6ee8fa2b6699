#include "runtime/train/checkpoint_reader.h"

#include <cstring>

#include "runtime/base/crc32c.h"
#include "runtime/base/errors.h"
#include "runtime/train/safetensors.h"

namespace hr::train {
namespace {

// Room for a hundred thousand shards.
constexpr size_t kMostManifestBytes = 16 << 20;

Status CheckShard(Bytes bytes, const ShardInfo& shard, bool checksum, const std::string& path) {
  if (bytes.size() != static_cast<size_t>(shard.bytes)) {
    return DataLoss("'", path, "' has ", bytes.size(), " bytes, its manifest says ", shard.bytes);
  }
  if (checksum && Crc32c(bytes) != shard.crc32c) {
    return DataLoss("'", path, "' is damaged: its checksum is not the one in its manifest");
  }
  return {};
}

}  // namespace

Result<CheckpointReader> CheckpointReader::Open(const std::string& path,
                                                const ReadOptions& options) {
  CheckpointReader reader;
  reader.path_ = path;
  std::string manifest = JoinPath(path, kManifestName);
  HR_ASSIGN_OR_RETURN(std::string text, ReadFile(manifest, kMostManifestBytes));
  HR_ASSIGN_OR_RETURN(reader.manifest_, ParseManifest(text, manifest));
  const std::vector<ShardInfo>& shards = reader.manifest_.shards;
  for (size_t i = 0; i < shards.size(); ++i) {
    HR_RETURN_IF_ERROR(reader.ReadShard(ShardName(i, shards.size()), shards[i], options));
  }
  return reader;
}

Status CheckpointReader::ReadShard(const std::string& name, const ShardInfo& shard,
                                   const ReadOptions& options) {
  std::string path = JoinPath(path_, name);
  HR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  HR_RETURN_IF_ERROR(CheckShard(file.bytes(), shard, options.verify_checksums, path));
  HR_ASSIGN_OR_RETURN(std::vector<TensorEntry> entries, ParseSafetensors(file.bytes(), path));
  Allocator& allocator = options.allocator == nullptr ? SystemAllocator() : *options.allocator;
  BufferRef buffer = BufferOf(std::move(file));
  for (const TensorEntry& entry : entries) {
    HR_ASSIGN_OR_RETURN(Tensor tensor, TensorAt(buffer, entry, allocator));
    if (!tensors_.emplace(entry.name, std::move(tensor)).second) {
      return DataLoss("'", path, "': tensor '", entry.name, "' is in another shard, too");
    }
  }
  return {};
}

Result<Tensor> CheckpointReader::Get(const std::string& name) const {
  auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [other, tensor] : tensors_) names.push_back(other);
  std::string_view close = ClosestWord(name, names);
  return NotFound("checkpoint '", path_, "' has no tensor '", name, "' among its ", tensors_.size(),
                  close.empty() ? "" : Cat("; did you mean '", close, "'?"));
}

Status CheckpointReader::ReadInto(const std::string& name, const Tensor& destination) const {
  HR_ASSIGN_OR_RETURN(Tensor tensor, Get(name));
  if (destination.dtype() != tensor.dtype() || destination.dims() != tensor.dims()) {
    return InvalidArgument("tensor '", name, "' of checkpoint '", path_, "' is ", tensor.TypeText(),
                           ", expected ", destination.TypeText());
  }
  if (!destination.contiguous() || destination.device().type == DeviceType::kCuda) {
    return InvalidArgument("tensor '", name, "' can only be read into contiguous CPU memory");
  }
  if (tensor.bytes() != 0) std::memcpy(destination.data(), tensor.data(), tensor.bytes());
  return {};
}

}  // namespace hr::train
