#include "tools/headrace/npy_header.h"

#include <charconv>

#include "tools/headrace/errors.h"

namespace headrace::tool {
namespace {

constexpr size_t kMostDims = 64;

struct Type {
  std::string_view code;  // without the byte order
  hr_dtype dtype;
};
constexpr Type kTypes[] = {{"f4", HR_FLOAT32}, {"f8", HR_FLOAT64}, {"f2", HR_FLOAT16},
                           {"b1", HR_BOOL},    {"i1", HR_INT8},    {"i2", HR_INT16},
                           {"i4", HR_INT32},   {"i8", HR_INT64},   {"u1", HR_UINT8},
                           {"u2", HR_UINT16},  {"u4", HR_UINT32},  {"u8", HR_UINT64}};

// Reads the few Python literals that stand in such a dictionary.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void Expect(char c) {
    if (!Accept(c)) Wrong(std::string("expected '") + c + "'");
  }

  bool Accept(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view String() {
    SkipSpace();
    char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') Wrong("expected a string in quotes");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Wrong("a string has no end");
    std::string_view out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }

  bool Truth() {
    SkipSpace();
    for (std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    Wrong("expected True or False");
  }

  std::vector<int64_t> Tuple() {
    std::vector<int64_t> out;
    Expect('(');
    while (!Accept(')')) {
      out.push_back(Number());
      if (out.size() > kMostDims) Wrong("more than 64 dimensions");
      if (Accept(',')) continue;
      Expect(')');
      break;
    }
    return out;
  }

  void ExpectEnd() {
    SkipSpace();
    if (at_ != text_.size()) Wrong("something follows the dictionary");
  }

  [[noreturn]] void Wrong(const std::string& what) const {
    throw Failure("the header does not describe an array: " + what + " at byte " +
                  std::to_string(at_) + " of it");
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  int64_t Number() {
    SkipSpace();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) Wrong("expected a size of at least 0");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

void SetType(std::string_view descr, NpyHeader* header) {
  std::string_view orders = "<>|=";
  if (descr.size() > 1 && orders.find(descr[0]) != std::string_view::npos) {
    for (const Type& type : kTypes) {
      if (type.code != descr.substr(1)) continue;
      header->dtype = type.dtype;
      header->big_endian = descr[0] == '>';
      return;
    }
  }
  throw Failure("its elements are of NumPy's type '" + std::string(descr) +
                "'; expected numbers or booleans (f2, f4, f8, i1 to i8, u1 to u8, b1)");
}

}  // namespace

NpyHeader ParseNpyHeader(std::string_view text) {
  NpyHeader header;
  Reader reader(text);
  bool has_type = false, has_order = false, has_shape = false;
  reader.Expect('{');
  while (!reader.Accept('}')) {
    std::string_view key = reader.String();
    reader.Expect(':');
    if (key == "descr") {
      if (reader.Accept('['))
        throw Failure("it is a structured array; expected an array of plain numbers");
      SetType(reader.String(), &header);
      has_type = true;
    } else if (key == "fortran_order") {
      header.fortran_order = reader.Truth();
      has_order = true;
    } else if (key == "shape") {
      header.dims = reader.Tuple();
      has_shape = true;
    } else {
      reader.Wrong("unknown key '" + std::string(key) + "'");
    }
    if (!reader.Accept(',')) {
      reader.Expect('}');
      break;
    }
  }
  reader.ExpectEnd();
  if (!has_type || !has_order || !has_shape)
    reader.Wrong("expected the keys descr, fortran_order and shape");
  return header;
}

size_t NpyBytes(const NpyHeader& header) {
  size_t bytes = hr_dtype_size(header.dtype);
  for (int64_t dim : header.dims) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes) || bytes > PTRDIFF_MAX)
      throw Failure("the shape in its header asks for more memory than any machine has");
  }
  return bytes;
}

std::string NpyHeaderText(hr_dtype dtype, const std::vector<int64_t>& dims) {
  std::string text = "{'descr': '";
  for (const Type& type : kTypes) {
    if (type.dtype == dtype)
      text += (hr_dtype_size(dtype) == 1 ? "|" : "<") + std::string(type.code);
  }
  text += "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : dims) text += std::to_string(dim) + ", ";
  text += "), }";
  size_t used = 10 + text.size() + 1;
  text.append((64 - used % 64) % 64, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xFF);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace headrace::tool
