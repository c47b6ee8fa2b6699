#include "runtime/train/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/crc32c.h"
#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/data/json.h"

namespace hr::train {
namespace {

constexpr char kFormat[] = "headrace-checkpoint";
constexpr int64_t kVersion = 1;
constexpr std::string_view kTrailerKey = "\"manifest_bytes\"";

std::string HexText(uint32_t value) {
  std::string text(8, '0');
  for (size_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15];
  return text;
}

Result<uint32_t> Crc32cAt(const data::Json& object, std::string_view what) {
  HR_ASSIGN_OR_RETURN(std::string text, data::JsonStringAt(object, "crc32c", what));
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error == std::errc() && text == HexText(value)) return value;
  return DataLoss(what, ": expected 8 hexadecimal digits as 'crc32c', got '", text, "'");
}

// What follows `body` in a manifest.
std::string Trailer(std::string_view body) {
  return Cat(kTrailerKey, ":", body.size(), ",\n\"manifest_crc32c\":\"",
             HexText(Crc32c(AsBytes(body))), "\"\n}\n");
}

Status CheckTrailer(std::string_view text, std::string_view what) {
  size_t end = text.rfind(kTrailerKey);
  if (end == std::string_view::npos) {
    return DataLoss(what, " is damaged or cut off: its last lines are missing");
  }
  if (text.substr(end) == Trailer(text.substr(0, end))) return {};
  return DataLoss(what, " is damaged: its size or checksum does not match its contents");
}

Result<ShardInfo> ParseShard(const data::Json& json, const std::string& name,
                             std::string_view what) {
  if (!json.is_object()) return DataLoss(what, ": expected objects as 'shards'");
  HR_ASSIGN_OR_RETURN(std::string file, data::JsonStringAt(json, "file", what));
  if (file != name) return DataLoss(what, ": expected the shard ", name, ", got '", file, "'");
  ShardInfo shard;
  HR_ASSIGN_OR_RETURN(shard.bytes, data::JsonInt64At(json, "bytes", what, 0));
  HR_ASSIGN_OR_RETURN(shard.crc32c, Crc32cAt(json, what));
  return shard;
}

Status CheckFormat(const data::Json& json, std::string_view what) {
  HR_ASSIGN_OR_RETURN(std::string format, data::JsonStringAt(json, "format", what));
  if (format != kFormat) {
    return DataLoss(what, ": expected the format ", kFormat, ", got '", format, "'");
  }
  HR_ASSIGN_OR_RETURN(int64_t version, data::JsonInt64At(json, "version", what, 1));
  if (version <= kVersion) return {};
  return Unimplemented(what, " has version ", version, ", this library reads up to version ",
                       kVersion, "; use a newer one");
}

}  // namespace

std::string ShardName(size_t index, size_t count) {
  return Cat("shard-", ZeroPadded(index, 5), "-of-", ZeroPadded(count, 5), ".safetensors");
}

std::string EncodeManifest(const CheckpointManifest& manifest) {
  JsonWriter json;
  json.BeginObject();
  json.Field("format", kFormat).Field("version", kVersion).Field("step", manifest.step);
  json.Key("metadata").BeginObject();
  for (const auto& [key, value] : manifest.metadata) json.Key(key).Value(value);
  json.EndObject();
  json.Key("shards").BeginArray();
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    json.BeginObject().Field("file", ShardName(i, manifest.shards.size()));
    json.Field("bytes", manifest.shards[i].bytes);
    json.Field("crc32c", HexText(manifest.shards[i].crc32c)).EndObject();
  }
  json.EndArray();
  std::string body = Cat(json.text(), ",\n");
  return Cat(body, Trailer(body));
}

Result<CheckpointManifest> ParseManifest(std::string_view text, std::string_view path) {
  std::string what = Cat("manifest '", path, "'");
  HR_RETURN_IF_ERROR(CheckTrailer(text, what));
  HR_ASSIGN_OR_RETURN(data::Json json, data::ParseJsonObject(text, what));
  HR_RETURN_IF_ERROR(CheckFormat(json, what));
  CheckpointManifest manifest;
  HR_ASSIGN_OR_RETURN(manifest.step, data::JsonInt64At(json, "step", what, 0));
  HR_ASSIGN_OR_RETURN(const data::Json* metadata, data::JsonObjectAt(json, "metadata", what));
  for (const auto& [key, value] : metadata->items()) {
    if (!value.is_string()) return DataLoss(what, ": expected strings as 'metadata'");
    manifest.metadata[key] = value.get<std::string>();
  }
  HR_ASSIGN_OR_RETURN(const data::Json* shards, data::JsonArrayAt(json, "shards", what));
  for (size_t i = 0; i < shards->size(); ++i) {
    HR_ASSIGN_OR_RETURN(manifest.shards.emplace_back(),
                        ParseShard((*shards)[i], ShardName(i, shards->size()), what));
  }
  return manifest;
}

}  // namespace hr::train
