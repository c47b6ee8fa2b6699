#include <zlib.h>

#include <algorithm>
#include <limits>

#include "runtime/base/errors.h"
#include "runtime/data/npy.h"

namespace hr::data {
namespace {

constexpr uint64_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kEnd64Bytes = 56,
                   kLocator64Bytes = 20;
constexpr uint64_t kMostComment = 65535;
constexpr uint64_t kSaturated = 0xFFFFFFFF;  // the value stands in the field of 64 bits
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint64_t kMostDeflateExpansion = 1032;  // of deflate

struct Entry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint64_t packed = 0;  // bytes in the file
  uint64_t bytes = 0;
  uint64_t local = 0;  // where its local header is
};

// A zip archive in memory; nothing that it says is believed.
class Archive {
 public:
  Archive(Bytes file, std::string_view path) : file_(file), path_(path) {}

  Result<std::vector<Entry>> Entries() const;
  // Where the bytes of an entry begin.
  Result<uint64_t> DataOf(const Entry& entry) const;

  template <typename... Pieces>
  Status Damaged(const Pieces&... pieces) const {
    return DataLoss("'", path_, "' is cut short or no .npz file: ", pieces...);
  }

 private:
  // A little-endian number. The caller has checked that it is inside.
  uint64_t Number(uint64_t at, int bytes) const {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(file_[at + static_cast<uint64_t>(i)]) << 8 * i;
    return value;
  }
  bool Has(uint64_t at, uint64_t bytes) const {
    return at <= file_.size() && bytes <= file_.size() - at;
  }
  bool Signed(uint64_t at, uint64_t signature, uint64_t bytes) const {
    return Has(at, bytes) && Number(at, 4) == signature;
  }
  struct Directory {
    uint64_t entries, bytes, offset;
  };
  Result<Directory> FindDirectory() const;
  Status ReadWide(uint64_t at, uint64_t bytes, Entry* entry) const;

  const Bytes file_;
  const std::string_view path_;
};

Result<Archive::Directory> Archive::FindDirectory() const {
  const uint64_t size = file_.size();
  for (uint64_t back = kEndBytes; back <= std::min(size, kEndBytes + kMostComment); ++back) {
    const uint64_t at = size - back;
    if (!Signed(at, 0x06054b50, kEndBytes)) continue;
    const uint64_t wide = at - std::min(at, kLocator64Bytes);
    if (!Signed(wide, 0x07064b50, kLocator64Bytes)) {
      return Directory{Number(at + 10, 2), Number(at + 12, 4), Number(at + 16, 4)};
    }
    const uint64_t end64 = Number(wide + 8, 8);
    if (!Signed(end64, 0x06064b50, kEnd64Bytes)) return Damaged("its 64-bit directory is missing");
    return Directory{Number(end64 + 32, 8), Number(end64 + 40, 8), Number(end64 + 48, 8)};
  }
  return Damaged("it does not end with the directory of a zip archive");
}

// The sizes of 64 bits among an entry's extra fields.
Status Archive::ReadWide(uint64_t at, uint64_t bytes, Entry* entry) const {
  const uint64_t end = at + bytes;
  while (at + 4 <= end) {
    const uint64_t id = Number(at, 2), length = Number(at + 2, 2);
    uint64_t value = at + 4;
    at = value + length;
    if (at > end) break;
    if (id != 1) continue;
    for (uint64_t* wide : {&entry->bytes, &entry->packed, &entry->local}) {
      if (*wide != kSaturated) continue;
      if (value + 8 > at) return Damaged("the sizes of '", entry->name, "' are missing");
      *wide = Number(value, 8);
      value += 8;
    }
  }
  return {};
}

Result<std::vector<Entry>> Archive::Entries() const {
  HR_ASSIGN_OR_RETURN(const Directory directory, FindDirectory());
  std::vector<Entry> entries;
  uint64_t at = directory.offset, packed = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (!Signed(at, 0x02014b50, kEntryBytes)) return Damaged("its directory ends at entry ", i);
    const uint64_t name = Number(at + 28, 2), extra = Number(at + 30, 2);
    const uint64_t length = kEntryBytes + name + extra + Number(at + 32, 2);
    if (!Has(at, length)) return Damaged("its directory ends within entry ", i);
    Entry& entry = entries.emplace_back();
    entry.name = AsText(file_.subspan(at + kEntryBytes, name));
    entry.flags = static_cast<uint16_t>(Number(at + 8, 2));
    entry.method = static_cast<uint16_t>(Number(at + 10, 2));
    entry.checksum = static_cast<uint32_t>(Number(at + 16, 4));
    entry.packed = Number(at + 20, 4);
    entry.bytes = Number(at + 24, 4);
    entry.local = Number(at + 42, 4);
    HR_RETURN_IF_ERROR(ReadWide(at + kEntryBytes + name, extra, &entry));
    at += length;
    // Else a small file could be unpacked to any size.
    if (entry.packed > file_.size() - packed) return Damaged("its entries overlap");
    packed += entry.packed;
  }
  return entries;
}

Result<uint64_t> Archive::DataOf(const Entry& entry) const {
  const auto damaged = [&] { return Damaged("'", entry.name, "' lies outside of the file"); };
  if (!Signed(entry.local, 0x04034b50, kLocalBytes)) return damaged();
  const uint64_t at =
      entry.local + kLocalBytes + Number(entry.local + 26, 2) + Number(entry.local + 28, 2);
  if (!Has(at, entry.packed)) return damaged();
  return at;
}

Status Inflate(Bytes packed, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return ResourceExhausted("no memory to unpack");
  constexpr size_t kMostPiece = std::numeric_limits<uInt>::max();
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    const size_t in = std::min(packed.size(), kMostPiece), room = std::min(out.size(), kMostPiece);
    stream.avail_in = static_cast<uInt>(in);
    stream.avail_out = static_cast<uInt>(room);
    code = inflate(&stream, Z_NO_FLUSH);
    packed = packed.subspan(in - stream.avail_in);
    out = out.subspan(room - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code == Z_STREAM_END && out.empty() && packed.empty()) return {};
  return DataLoss("its compressed bytes are damaged");
}

uint32_t ChecksumOf(Bytes bytes) {
  uLong sum = crc32(0, nullptr, 0);
  sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return static_cast<uint32_t>(sum);
}

// The array's file, where it is or unpacked.
struct Piece {
  BufferRef buffer;
  size_t offset;
};

Result<Piece> Unpack(const Archive& archive, const BufferRef& file, const Entry& entry,
                     uint64_t data, Allocator& allocator) {
  if (entry.bytes / kMostDeflateExpansion > entry.packed)
    return archive.Damaged("'", entry.name, "' cannot have ", entry.bytes, " bytes");
  HR_ASSIGN_OR_RETURN(BufferRef buffer, AllocateBuffer(allocator, entry.bytes));
  const std::span<std::byte> out(buffer->data(), entry.bytes);
  Status unpacked = Inflate(Bytes(file->data() + data, entry.packed), out);
  if (unpacked.code() == Code::kResourceExhausted) return unpacked;
  if (!unpacked.ok() || ChecksumOf(out) != entry.checksum)
    return archive.Damaged("what '", entry.name, "' has is not what was written");
  return Piece{std::move(buffer), 0};
}

Result<NpyArray> ReadEntry(const Archive& archive, const BufferRef& file, const Entry& entry,
                           std::string_view path, Allocator& allocator) {
  if ((entry.flags & 1) != 0 || (entry.method != kStored && entry.method != kDeflated)) {
    return Unimplemented("'", path, "': '", entry.name, "' is encrypted or compressed by method ",
                         entry.method, "; save it with numpy.savez or numpy.savez_compressed");
  }
  HR_ASSIGN_OR_RETURN(const uint64_t data, archive.DataOf(entry));
  Piece piece = {file, data};
  if (entry.method == kDeflated) {
    HR_ASSIGN_OR_RETURN(piece, Unpack(archive, file, entry, data, allocator));
  } else if (entry.bytes != entry.packed) {
    return archive.Damaged("'", entry.name, "' lies about its size");
  }
  return ParseNpy(piece.buffer, piece.offset, entry.bytes, Cat(path, "/", entry.name));
}

std::string_view WithoutEnding(std::string_view name) {
  if (name.ends_with(".npy")) name.remove_suffix(4);
  return name;
}

}  // namespace

Result<std::vector<NpzArray>> ReadNpz(const BufferRef& file, std::span<const std::string> names,
                                      std::string_view path, Allocator& allocator) {
  const Archive archive(Bytes(file->data(), file->bytes()), path);
  HR_ASSIGN_OR_RETURN(const std::vector<Entry> entries, archive.Entries());
  std::vector<std::string> all;
  for (const Entry& entry : entries) all.emplace_back(WithoutEnding(entry.name));
  std::vector<NpzArray> arrays;
  for (const std::string& name : names.empty() ? std::span<const std::string>(all) : names) {
    const auto found = std::ranges::find(all, name);
    if (found == all.end())
      return NotFound("'", path, "' has no array '", name, "'; it has", ListText(all));
    const Entry& entry = entries[static_cast<size_t>(found - all.begin())];
    HR_ASSIGN_OR_RETURN(NpyArray array, ReadEntry(archive, file, entry, path, allocator));
    arrays.push_back({name, std::move(array)});
  }
  return arrays;
}

}  // namespace hr::data
