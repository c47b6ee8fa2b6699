// The manifest of a checkpoint: which shards it has and how to know that they are whole.
//
//   DIR/step-000123/manifest.json                      written last: with it the checkpoint exists
//   DIR/step-000123/shard-00000-of-00002.safetensors
//   DIR/latest                                         "step-000123", for people and scripts
//
// If groups of processes write, checkpoint_term.h says who may.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace hr::train {

inline constexpr char kManifestName[] = "manifest.json";

// What a training notes beside its tensors: data position, seeds, … Keys and values are UTF-8.
using CheckpointMetadata = std::map<std::string, std::string>;

struct ShardInfo {
  int64_t bytes = 0;
  uint32_t crc32c = 0;  // of the whole file
};

struct CheckpointManifest {
  int64_t step = 0;
  CheckpointMetadata metadata;
  std::vector<ShardInfo> shards;
};

// "shard-00000-of-00002.safetensors"
std::string ShardName(size_t index, size_t count);

// JSON whose last lines hold the size and the CRC-32C of all that stands before them.
std::string EncodeManifest(const CheckpointManifest& manifest);
// DATA_LOSS with `path` if anything is damaged or missing, UNIMPLEMENTED for a version later
// than this one's.
Result<CheckpointManifest> ParseManifest(std::string_view text, std::string_view path);

}  // namespace hr::train
