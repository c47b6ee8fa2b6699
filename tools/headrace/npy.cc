#include "tools/headrace/npy.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/headrace/errors.h"
#include "tools/headrace/npy_header.h"
#include "tools/headrace/output.h"
#include "tools/headrace/values.h"

namespace headrace::tool {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kMostHeaderBytes = 64 * 1024;

class File {
 public:
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "rb"), std::fclose) {
    if (file_ == nullptr) throw Failure(std::string("cannot open it: ") + std::strerror(errno));
  }

  size_t Read(void* to, size_t bytes) { return std::fread(to, 1, bytes, file_.get()); }

  std::string Exactly(size_t bytes, const char* what) {
    std::string out(bytes, '\0');
    if (Read(out.data(), bytes) != bytes)
      throw Failure(std::string("the file is cut short: it ends within its ") + what);
    return out;
  }

  // Bytes from here to the end; -1 for what has no known size, e.g. a pipe.
  int64_t Rest() const {
    struct stat info;
    if (fstat(fileno(file_.get()), &info) != 0 || !S_ISREG(info.st_mode)) return -1;
    return info.st_size - std::ftell(file_.get());
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

NpyHeader ReadHeader(File& file) {
  std::string start = file.Exactly(8, "first 8 bytes");
  if (start.compare(0, 6, "\x93NUMPY") != 0)
    throw Failure("it is not a .npy file: expected \\x93NUMPY in its first 6 bytes");
  int major = start[6];
  if (major < 1 || major > 3)
    throw Failure("it is of .npy format " + std::to_string(major) + "; 1 to 3 are supported");
  std::string size = file.Exactly(major == 1 ? 2 : 4, "header");
  size_t bytes = 0;
  for (size_t i = 0; i < size.size(); ++i)
    bytes |= static_cast<size_t>(static_cast<unsigned char>(size[i])) << (8 * i);
  if (bytes > kMostHeaderBytes)
    throw Failure("its header claims " + std::to_string(bytes) + " bytes; expected at most " +
                  std::to_string(kMostHeaderBytes));
  return ParseNpyHeader(file.Exactly(bytes, "header"));
}

void ReadElements(File& file, void* to, size_t bytes) {
  auto differs = [&](const std::string& found) {
    return Failure("its header describes " + std::to_string(bytes) + " bytes of elements, " +
                   found + " follow");
  };
  int64_t rest = file.Rest();
  if (rest >= 0 && static_cast<uint64_t>(rest) != bytes) throw differs(std::to_string(rest));
  size_t read = file.Read(to, bytes);
  if (read != bytes) throw differs("only " + std::to_string(read));
  char more;
  if (file.Read(&more, 1) != 0) throw differs("more");
}

void SwapBytes(char* data, size_t bytes, size_t size) {
  for (char* element = data; element < data + bytes; element += size)
    std::reverse(element, element + size);
}

// From column-major to row-major elements.
void Transpose(const char* from, char* to, const std::vector<int64_t>& dims, size_t size) {
  std::vector<size_t> strides;
  size_t total = size;
  for (int64_t dim : dims) {
    strides.push_back(total);
    total *= static_cast<size_t>(dim);
  }
  std::vector<int64_t> index(dims.size(), 0);
  size_t offset = 0;
  for (size_t done = 0; done < total; done += size) {
    std::memcpy(to + done, from + offset, size);
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= strides[axis] * static_cast<size_t>(dims[axis]);
      index[axis] = 0;
    }
  }
}

hr::Tensor Read(const hr::Env& env, const std::string& path) {
  File file(path);
  NpyHeader header = ReadHeader(file);
  size_t bytes = NpyBytes(header);
  int64_t rest = file.Rest();
  if (rest >= 0 && static_cast<uint64_t>(rest) < bytes)  // before memory is asked for
    throw Failure("its header describes " + std::to_string(bytes) + " bytes of elements, " +
                  std::to_string(rest) + " follow");
  hr::Tensor tensor(env, header.dtype, header.dims);
  size_t size = hr_dtype_size(header.dtype);
  char* data = tensor.data<char>();
  ReadElements(file, data, bytes);
  if (header.big_endian) SwapBytes(data, bytes, size);
  if (header.dtype == HR_BOOL) {
    for (size_t i = 0; i < bytes; ++i) data[i] = data[i] != 0 ? 1 : 0;
  }
  if (!header.fortran_order || header.dims.size() < 2) return tensor;
  hr::Tensor rows(env, header.dtype, header.dims);
  Transpose(data, rows.data<char>(), header.dims, size);
  return rows;
}

std::string Widened(const hr::Tensor& tensor) {
  std::string out;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto element = static_cast<float>(ElementAt(tensor, i));
    out.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
  return out;
}

}  // namespace

hr::Tensor ReadNpy(const hr::Env& env, const std::string& path) {
  try {
    return Read(env, path);
  } catch (const Failure& failure) {
    throw Failure("'" + path + "': " + failure.what());
  }
}

void WriteNpy(const std::string& path, const hr::Tensor& tensor) {
  hr_dtype dtype = hr_tensor_dtype(tensor.get());
  bool widen = dtype == HR_BFLOAT16 || dtype >= HR_FLOAT8E4M3FN;
  std::string elements = widen ? Widened(tensor) : std::string(tensor.data<char>(), tensor.bytes());
  WriteText(path, NpyHeaderText(widen ? HR_FLOAT32 : dtype, tensor.dims()) + elements);
}

}  // namespace headrace::tool
