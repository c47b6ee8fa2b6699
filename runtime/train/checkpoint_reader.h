// Reads a checkpoint without copying it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/device/tensor.h"
#include "runtime/train/checkpoint_manifest.h"

namespace hr::train {

struct ReadOptions {
  // For the rare tensor that lies unaligned in a file of another program. Null: SystemAllocator().
  Allocator* allocator = nullptr;
  // False skips reading every byte once: structure and sizes are still verified.
  bool verify_checksums = true;
};

// Immutable, so any number of threads may read. Its tensors keep the files mapped, also when the
// checkpoint is removed meanwhile; they are private: writing to them never reaches the files.
class CheckpointReader {
 public:
  // `path` is one checkpoint's folder (DIR/step-N). Everything is verified: DATA_LOSS with the file
  // and what is wrong with it, NOT_FOUND if a file is missing.
  static Result<CheckpointReader> Open(const std::string& path, const ReadOptions& options);

  const std::string& path() const { return path_; }
  int64_t step() const { return manifest_.step; }
  const CheckpointMetadata& metadata() const { return manifest_.metadata; }
  // By name.
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

  // NOT_FOUND with the closest name if there is none of that name.
  Result<Tensor> Get(const std::string& name) const;
  // Copies into `destination` (contiguous, on the CPU), which must have the same type and shape.
  Status ReadInto(const std::string& name, const Tensor& destination) const;

 private:
  CheckpointReader() = default;
  Status ReadShard(const std::string& name, const ShardInfo& shard, const ReadOptions& options);

  std::string path_;
  CheckpointManifest manifest_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace hr::train
