#include "runtime/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"

namespace hr::data {
namespace {

// Deflate cannot expand its input by more (zlib, "Technical Details": 1032 to 1).
constexpr int64_t kMostGzipExpansion = 1032;

// A file read through zlib, which passes plain files on as they are.
class GzipReader {
 public:
  static Result<GzipReader> Open(const std::string& path) {
    HR_ASSIGN_OR_RETURN(int64_t size, FileSize(path));
    gzFile file = gzopen(path.c_str(), "rbe");
    if (file == nullptr) return Unavailable("cannot open '", path, "': ", std::strerror(errno));
    gzbuffer(file, 1 << 18);
    return GzipReader(file, path, size);
  }
  GzipReader(GzipReader&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)),
        path_(std::move(other.path_)),
        size_(other.size_) {}
  ~GzipReader() {
    if (file_ != nullptr) gzclose(file_);
  }

  const std::string& path() const { return path_; }
  // Bytes the file may expand to; exact for a plain one.
  int64_t MostBytes() {
    if (gzdirect(file_) != 0) return size_;
    return size_ > std::numeric_limits<int64_t>::max() / kMostGzipExpansion
               ? size_
               : size_ * kMostGzipExpansion;
  }
  // Reads up to `count` bytes; fewer only at the end.
  Result<size_t> Read(std::byte* out, size_t count);
  // DATA_LOSS if anything follows. Checks the trailer of a gzip stream too.
  Status ExpectEnd(size_t expected);

 private:
  GzipReader(gzFile file, const std::string& path, int64_t size)
      : file_(file), path_(path), size_(size) {}
  Status StreamStatus();

  gzFile file_;
  std::string path_;
  int64_t size_;
};

Status GzipReader::StreamStatus() {
  int code;
  const char* text = gzerror(file_, &code);
  if (code == Z_OK) return {};
  if (code == Z_ERRNO) return Unavailable("cannot read '", path_, "': ", std::strerror(errno));
  if (code == Z_MEM_ERROR) return ResourceExhausted("no memory to unpack '", path_, "'");
  if (code == Z_BUF_ERROR) {
    return DataLoss("'", path_, "' is truncated: its gzip stream ends early; fetch it again");
  }
  return DataLoss("'", path_, "' is damaged: ", text, "; fetch it again");
}

Result<size_t> GzipReader::Read(std::byte* out, size_t count) {
  size_t done = 0;
  while (done < count) {
    unsigned piece = static_cast<unsigned>(std::min<size_t>(count - done, 1u << 30));
    int n = gzread(file_, out + done, piece);
    if (n < 0) return StreamStatus();
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  HR_RETURN_IF_ERROR(StreamStatus());
  return done;
}

Status GzipReader::ExpectEnd(size_t expected) {
  std::byte extra;
  HR_ASSIGN_OR_RETURN(size_t more, Read(&extra, 1));
  if (more == 0) return {};
  return DataLoss("'", path_, "' is longer than its header says: expected ", expected,
                  " bytes of elements, found more; fetch it again");
}

DType DTypeOfCode(uint8_t code) {
  switch (code) {
    case 0x08: return DType::kUint8;
    case 0x09: return DType::kInt8;
    case 0x0B: return DType::kInt16;
    case 0x0C: return DType::kInt32;
    case 0x0D: return DType::kFloat32;
    case 0x0E: return DType::kFloat64;
    default: return DType::kUndefined;
  }
}

std::string Hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    if (!text.empty()) text.push_back(' ');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

struct IdxHeader {
  DType dtype;
  Dims dims;
};

Result<IdxHeader> ReadHeader(GzipReader& reader) {
  std::array<uint8_t, 4> magic{};
  HR_ASSIGN_OR_RETURN(size_t n, reader.Read(reinterpret_cast<std::byte*>(magic.data()), 4));
  IdxHeader header{DTypeOfCode(magic[2]), Dims(magic[3])};
  if (n < 4 || magic[0] != 0 || magic[1] != 0 || header.dtype == DType::kUndefined) {
    return DataLoss("'", reader.path(), "' is not an IDX file: expected it to begin with 00 00, a ",
                    "type code (08, 09, 0b, 0c, 0d or 0e) and the rank, found ",
                    n == 0 ? "an empty file" : Hex(std::span(magic).first(n)));
  }
  for (int64_t& dim : header.dims) {
    std::array<uint8_t, 4> b{};
    HR_ASSIGN_OR_RETURN(n, reader.Read(reinterpret_cast<std::byte*>(b.data()), 4));
    if (n < 4) {
      return DataLoss("'", reader.path(), "' ends within its header, which announces ",
                      header.dims.size(), " dimensions");
    }
    dim = int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | int64_t{b[3]};
  }
  return header;
}

Status CheckSize(const IdxHeader& header, GzipReader& reader) {
  Result<int64_t> count = CheckedElementCount(header.dims);
  int64_t most = reader.MostBytes() / static_cast<int64_t>(DTypeSize(header.dtype));
  if (count.ok() && *count <= most) return {};
  return DataLoss("'", reader.path(), "' is damaged: its header announces ",
                  DTypeName(header.dtype), ShapeText(header.dims), ", the file can hold at most ",
                  most, " elements; fetch it again");
}

void ToHostOrder(const Tensor& tensor) {
  if constexpr (std::endian::native == std::endian::big) return;
  size_t size = DTypeSize(tensor.dtype());
  if (size == 1) return;
  for (std::byte *p = tensor.data(), *end = p + tensor.bytes(); p != end; p += size) {
    std::reverse(p, p + size);
  }
}

}  // namespace

Result<Tensor> ReadIdx(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(GzipReader reader, GzipReader::Open(path));
  HR_ASSIGN_OR_RETURN(IdxHeader header, ReadHeader(reader));
  HR_RETURN_IF_ERROR(CheckSize(header, reader));
  HR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(allocator, header.dtype, header.dims));
  HR_ASSIGN_OR_RETURN(size_t n, reader.Read(tensor.data(), tensor.bytes()));
  if (n < tensor.bytes()) {
    return DataLoss("'", path, "' is damaged: its header announces ", tensor.TypeText(),
                    ", that is ", tensor.bytes(), " bytes, found ", n, "; fetch it again");
  }
  HR_RETURN_IF_ERROR(reader.ExpectEnd(tensor.bytes()));
  ToHostOrder(tensor);
  return tensor;
}

}  // namespace hr::data
