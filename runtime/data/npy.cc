#include "runtime/data/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "runtime/base/errors.h"

namespace hr::data {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostHeader = 1 << 20;
constexpr int64_t kMostRank = 64;  // NumPy's

struct NpyHeader {
  DType dtype = DType::kUndefined;
  bool swap = false;
  bool fortran = false;
  Dims dims;
};

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr TypeCode kTypes[] = {
    {"f4", DType::kFloat32}, {"f8", DType::kFloat64}, {"f2", DType::kFloat16},
    {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},
    {"i8", DType::kInt64},   {"u1", DType::kUint8},   {"u2", DType::kUint16},
    {"u4", DType::kUint32},  {"u8", DType::kUint64},  {"b1", DType::kBool},
};

// The value behind 'key': in the text of a Python dictionary, up to what ends it.
std::optional<std::string_view> ValueOf(std::string_view text, std::string_view key) {
  const std::string quoted = Cat("'", key, "'");
  size_t at = text.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + quoted.size());
  at = text.find_first_not_of(' ');
  if (at == std::string_view::npos || text[at] != ':') return std::nullopt;
  text.remove_prefix(at + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.starts_with('(')) {
    const size_t end = text.find(')');
    return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(1, end - 1));
  }
  const size_t end = text.find_first_of(",}");
  return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Status ParseType(std::string_view text, std::string_view name, NpyHeader* header) {
  text = Trim(text);
  if (text.size() >= 4 && text.front() == '\'' && text.back() == '\'') {
    const char order = text[1];
    const std::string_view code = text.substr(2, text.size() - 3);
    for (const TypeCode& type : kTypes) {
      if (type.code != code || std::string_view("<>|=").find(order) == std::string_view::npos)
        continue;
      header->dtype = type.dtype;
      const char native = std::endian::native == std::endian::little ? '<' : '>';
      header->swap = (order == '<' || order == '>') && order != native && code[1] != '1';
      return {};
    }
  }
  std::vector<std::string> known;
  for (const TypeCode& type : kTypes) known.emplace_back(type.code);
  return Unimplemented("'", name, "' has elements of type ", text, "; there are ", Join(known),
                       " (of NumPy's type codes): convert it with astype");
}

bool ParseShape(std::string_view text, Dims* dims) {
  while (!(text = Trim(text)).empty()) {
    int64_t dim = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0 || dims->size() == static_cast<size_t>(kMostRank))
      return false;
    dims->push_back(dim);
    text = Trim(text.substr(static_cast<size_t>(end - text.data())));
    if (!text.empty() && text.front() != ',') return false;
    if (!text.empty()) text.remove_prefix(1);
  }
  return true;
}

Result<NpyHeader> ParseHeader(std::string_view text, std::string_view name) {
  const auto type = ValueOf(text, "descr"), order = ValueOf(text, "fortran_order"),
             shape = ValueOf(text, "shape");
  NpyHeader header;
  const std::string_view fortran = order ? Trim(*order) : "";
  if (!type || !shape || (fortran != "True" && fortran != "False") ||
      !ParseShape(*shape, &header.dims)) {
    return DataLoss("'", name, "' is damaged: expected a header with descr, fortran_order and ",
                    "shape, found \"", text.substr(0, 200), "\"");
  }
  header.fortran = fortran == "True";
  HR_RETURN_IF_ERROR(ParseType(*type, name, &header));
  return header;
}

Dims FortranStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    strides[i] = step;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

// Where the header's text stands, from the beginning of the file.
struct HeaderPlace {
  size_t begin;
  size_t end;
};

Result<HeaderPlace> FindHeader(std::string_view file, std::string_view name) {
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(file[i])); };
  if (!file.starts_with(kMagic) || file.size() < 12) {
    return DataLoss("'", name, "' is no .npy file: expected it to begin with \\x93NUMPY and a ",
                    "header, found ", file.size(), " other bytes");
  }
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    return Unimplemented("'", name, "' has version ", version, " of .npy, expected 1 to 3");
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMostHeader || length > file.size() - begin) {
    return DataLoss("'", name, "' is cut short or damaged: its header should have ", length,
                    " bytes, the file has ", file.size());
  }
  return HeaderPlace{begin, begin + length};
}

}  // namespace

Result<NpyArray> ParseNpy(const BufferRef& buffer, size_t offset, size_t bytes,
                          std::string_view name) {
  const std::string_view file = AsText(Bytes(buffer->data() + offset, bytes));
  HR_ASSIGN_OR_RETURN(const HeaderPlace place, FindHeader(file, name));
  HR_ASSIGN_OR_RETURN(NpyHeader header,
                      ParseHeader(file.substr(place.begin, place.end - place.begin), name));
  const auto needed = CheckedTensorBytes(header.dtype, header.dims);
  const size_t there = bytes - place.end;
  if (!needed.ok() || *needed != there) {
    return DataLoss("'", name, "' is cut short or damaged: its header announces ",
                    DTypeName(header.dtype), ShapeText(header.dims), ", the file has ", there,
                    " bytes of elements");
  }
  Dims strides = header.fortran ? FortranStrides(header.dims) : ContiguousStrides(header.dims);
  return NpyArray{Tensor::Strided(buffer, offset + place.end, header.dtype, std::move(header.dims),
                                  std::move(strides)),
                  header.swap};
}

}  // namespace hr::data
