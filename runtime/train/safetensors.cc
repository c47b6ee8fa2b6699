#include "runtime/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/base/utf8.h"
#include "runtime/data/json.h"

namespace hr::train {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they lie");

constexpr size_t kMostHeaderBytes = 16 << 20;  // room for about a hundred thousand tensors
constexpr size_t kLengthBytes = 8;
constexpr size_t kDataAlignment = 64;
constexpr char kMetadataKey[] = "__metadata__";

struct Name {
  DType dtype;
  std::string_view text;
};
constexpr Name kNames[] = {
    {DType::kFloat64, "F64"},
    {DType::kFloat32, "F32"},
    {DType::kFloat16, "F16"},
    {DType::kBfloat16, "BF16"},
    {DType::kInt64, "I64"},
    {DType::kInt32, "I32"},
    {DType::kInt16, "I16"},
    {DType::kInt8, "I8"},
    {DType::kUint64, "U64"},
    {DType::kUint32, "U32"},
    {DType::kUint16, "U16"},
    {DType::kUint8, "U8"},
    {DType::kBool, "BOOL"},
    {DType::kFloat8E4M3FN, "F8_E4M3"},
    {DType::kFloat8E5M2, "F8_E5M2"},
    {DType::kFloat8E4M3FNUZ, "F8_E4M3FNUZ"},
    {DType::kFloat8E5M2FNUZ, "F8_E5M2FNUZ"},
};

std::string_view NameOf(DType dtype) {
  auto found = std::ranges::find(kNames, dtype, &Name::dtype);
  return found == std::end(kNames) ? std::string_view() : found->text;
}

void WriteEntry(const TensorEntry& entry, int64_t begin, JsonWriter* json) {
  json->Key(entry.name).BeginObject();
  json->Field("dtype", NameOf(entry.dtype));
  json->Key("shape").Values(std::span<const int64_t>(entry.dims));
  json->Key("data_offsets").BeginArray().Value(begin).Value(begin + entry.bytes).EndArray();
  json->EndObject();
}

Status CheckEntry(const TensorEntry& entry) {
  if (!IsUtf8(entry.name)) return InvalidArgument("the name of a tensor must be UTF-8");
  if (entry.name == kMetadataKey) {
    return InvalidArgument("no tensor can be named ", kMetadataKey, " in a safetensors file");
  }
  if (NameOf(entry.dtype).empty()) {
    return Unimplemented("tensor '", entry.name, "' of type ", DTypeName(entry.dtype),
                         " cannot be stored in a safetensors file");
  }
  return {};
}

Result<Dims> ParseShape(const data::Json& entry, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const data::Json* shape, data::JsonArrayAt(entry, "shape", what));
  Dims dims;
  for (const data::Json& dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX) {
      return DataLoss(what, ": expected dimensions of at least 0 as 'shape'");
    }
    dims.push_back(dim.get<int64_t>());
  }
  return dims;
}

struct Range {
  uint64_t begin;
  uint64_t end;
};

Result<Range> ParseOffsets(const data::Json& entry, uint64_t data_bytes, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const data::Json* pair, data::JsonArrayAt(entry, "data_offsets", what));
  bool numbers =
      pair->size() == 2 && (*pair)[0].is_number_unsigned() && (*pair)[1].is_number_unsigned();
  if (!numbers) return DataLoss(what, ": expected two offsets as 'data_offsets'");
  Range range{(*pair)[0].get<uint64_t>(), (*pair)[1].get<uint64_t>()};
  if (range.begin > range.end || range.end > data_bytes) {
    return DataLoss(what, ": 'data_offsets' ", range.begin, " to ", range.end,
                    " lie outside the file's ", data_bytes, " bytes of tensors");
  }
  return range;
}

// `data` is where the tensors' bytes begin.
Result<TensorEntry> ParseEntry(const std::string& name, const data::Json& json, uint64_t data,
                               uint64_t data_bytes, std::string_view path) {
  std::string what = Cat("'", path, "': tensor '", name, "'");
  if (!json.is_object()) return DataLoss(what, ": expected an object, got ", json.type_name());
  TensorEntry entry{.name = name};
  HR_ASSIGN_OR_RETURN(std::string dtype, data::JsonStringAt(json, "dtype", what));
  auto known = std::ranges::find(kNames, dtype, &Name::text);
  if (known == std::end(kNames)) {
    return Unimplemented(what, ": element type '", dtype, "' is not supported");
  }
  entry.dtype = known->dtype;
  HR_ASSIGN_OR_RETURN(entry.dims, ParseShape(json, what));
  HR_ASSIGN_OR_RETURN(Range range, ParseOffsets(json, data_bytes, what));
  const auto bytes = CheckedTensorBytes(entry.dtype, entry.dims);
  if (!bytes.ok() || range.end - range.begin != *bytes) {
    return DataLoss(what, ": ", DTypeName(entry.dtype), ShapeText(entry.dims),
                    " does not take the ", range.end - range.begin, " bytes it has");
  }
  entry.offset = static_cast<int64_t>(data + range.begin);
  entry.bytes = static_cast<int64_t>(range.end - range.begin);
  return entry;
}

Status CheckNoGaps(std::span<const TensorEntry> sorted, int64_t data, int64_t file_bytes,
                   std::string_view path) {
  int64_t expected = data;
  for (const TensorEntry& entry : sorted) {
    if (entry.offset != expected) {
      return DataLoss("'", path, "': tensor '", entry.name,
                      entry.offset < expected ? "' overlaps another" : "' leaves a gap before it");
    }
    expected += entry.bytes;
  }
  if (expected == file_bytes) return {};
  return DataLoss("'", path, "' has ", file_bytes, " bytes, its header describes ", expected);
}

}  // namespace

Result<std::string> EncodeSafetensorsHeader(std::span<TensorEntry> entries) {
  std::set<std::string_view> names;
  JsonWriter json;
  json.BeginObject();
  int64_t offset = 0;
  for (TensorEntry& entry : entries) {
    HR_RETURN_IF_ERROR(CheckEntry(entry));
    if (!names.insert(entry.name).second) {
      return InvalidArgument("two tensors are named '", entry.name, "'");
    }
    WriteEntry(entry, offset, &json);
    entry.offset = offset;
    offset += entry.bytes;
  }
  json.EndObject();
  std::string header = json.Take();
  size_t data = (kLengthBytes + header.size() + kDataAlignment - 1) & ~(kDataAlignment - 1);
  uint64_t length = data - kLengthBytes;
  if (length > kMostHeaderBytes) {
    return InvalidArgument(entries.size(), " tensors need a header of ", length,
                           " bytes, the most is ", kMostHeaderBytes, "; use smaller shards");
  }
  for (TensorEntry& entry : entries) entry.offset += static_cast<int64_t>(data);
  std::string out(kLengthBytes, '\0');
  std::memcpy(out.data(), &length, kLengthBytes);
  out += header;
  out.resize(data, ' ');
  return out;
}

Result<std::vector<TensorEntry>> ParseSafetensors(Bytes file, std::string_view path) {
  uint64_t length = 0;
  if (file.size() >= kLengthBytes) std::memcpy(&length, file.data(), kLengthBytes);
  if (file.size() < kLengthBytes || length > file.size() - kLengthBytes) {
    return DataLoss("'", path, "' is truncated: it has ", file.size(),
                    " bytes, fewer than its header");
  }
  if (length > kMostHeaderBytes) {
    return DataLoss("'", path, "' is not a safetensors file: a header of ", length,
                    " bytes, the most is ", kMostHeaderBytes);
  }
  std::string what = Cat("the header of '", path, "'");
  HR_ASSIGN_OR_RETURN(data::Json header,
                      data::ParseJsonObject(AsText(file.subspan(kLengthBytes, length)), what));
  uint64_t data = kLengthBytes + length;
  std::vector<TensorEntry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) continue;
    HR_ASSIGN_OR_RETURN(entries.emplace_back(),
                        ParseEntry(name, json, data, file.size() - data, path));
  }
  std::ranges::sort(entries, [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  HR_RETURN_IF_ERROR(
      CheckNoGaps(entries, static_cast<int64_t>(data), static_cast<int64_t>(file.size()), path));
  return entries;
}

BufferRef BufferOf(MappedFile file) {
  auto* owned = new MappedFile(std::move(file));
  return AdoptBuffer(
      owned->bytes().data(), owned->bytes().size(), DeviceId{},
      [](void* context) { delete static_cast<MappedFile*>(context); }, owned);
}

Result<Tensor> TensorAt(const BufferRef& buffer, const TensorEntry& entry, Allocator& allocator) {
  size_t offset = static_cast<size_t>(entry.offset);
  if (offset % DTypeSize(entry.dtype) == 0 || entry.bytes == 0) {
    return Tensor::View(buffer, entry.bytes == 0 ? 0 : offset, entry.dtype, entry.dims);
  }
  HR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(allocator, entry.dtype, entry.dims));
  std::memcpy(copy.data(), buffer->data() + offset, copy.bytes());
  return copy;
}

}  // namespace hr::train
