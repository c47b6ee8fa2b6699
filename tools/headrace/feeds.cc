#include "tools/headrace/feeds.h"

#include <charconv>
#include <cstring>
#include <random>
#include <set>

#include "tools/headrace/errors.h"
#include "tools/headrace/npy.h"

namespace headrace::tool {
namespace {

std::vector<int64_t> ParseDims(const std::string& name, const std::string& text) {
  std::vector<int64_t> dims;
  if (text == "scalar") return dims;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int64_t dim = 0;
    auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || (next != end && *next != 'x'))
      throw UsageError("--shape takes sizes like " + name + "=1x28x28 (or " + name +
                       "=scalar), got '" + name + "=" + text + "'");
    dims.push_back(dim);
    if (next == end) return dims;
    at = next + 1;
  }
}

hr_dtype DTypeNamed(const std::string& name) {
  for (int code = HR_UNDEFINED + 1; code <= HR_FLOAT8E5M2FNUZ; ++code) {
    auto dtype = static_cast<hr_dtype>(code);
    if (hr_dtype_size(dtype) != 0 && hr_dtype_name(dtype) == name) return dtype;
  }
  throw Failure("an input is of type " + name + ", which this command cannot fill");
}

// The declared dimensions with 1 for open ones, but `batch` (if it is not 0) for a first one and
// for those of `batch_names`.
std::vector<int64_t> DeclaredDims(const Json& port, int64_t batch,
                                  const std::set<std::string>& batch_names) {
  if (port["dims"].is_null())
    throw UsageError("the model leaves the rank of input '" + port["name"].get<std::string>() +
                     "' open; give its shape with --shape");
  std::vector<int64_t> dims;
  for (const Json& dim : port["dims"]) {
    const bool first = dims.empty();
    const bool batched = batch != 0 && (first || (dim.is_string() && batch_names.contains(dim)));
    dims.push_back(dim.is_number() ? dim.get<int64_t>() : batched ? batch : 1);
  }
  return dims;
}

template <typename T, typename Make>
void Fill(const hr::Tensor& tensor, Make make) {
  T* data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.elements(); ++i) data[i] = make();
}

// Floats in [0, 1), integers and truth values 0 or 1: valid as pixels and as labels alike.
void FillRandom(const hr::Tensor& tensor, uint64_t seed) {
  std::mt19937_64 generator(seed);
  auto unit = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  auto bit = [&] { return generator() >> 63; };
  switch (hr_tensor_dtype(tensor.get())) {
    case HR_FLOAT32:
      return Fill<float>(tensor, [&] { return static_cast<float>(generator() >> 40) * 0x1p-24f; });
    case HR_FLOAT64: return Fill<double>(tensor, unit);
    // The exponent of [0.5, 1) with random fractions.
    case HR_FLOAT16: return Fill<uint16_t>(tensor, [&] { return 0x3800 | generator() >> 54; });
    case HR_BFLOAT16: return Fill<uint16_t>(tensor, [&] { return 0x3F00 | generator() >> 57; });
    case HR_FLOAT8E4M3FN: return Fill<uint8_t>(tensor, [&] { return 0x30 | generator() >> 61; });
    case HR_FLOAT8E4M3FNUZ: return Fill<uint8_t>(tensor, [&] { return 0x38 | generator() >> 61; });
    case HR_FLOAT8E5M2: return Fill<uint8_t>(tensor, [&] { return 0x38 | generator() >> 62; });
    case HR_FLOAT8E5M2FNUZ: return Fill<uint8_t>(tensor, [&] { return 0x3C | generator() >> 62; });
    default: break;
  }
  switch (hr_dtype_size(hr_tensor_dtype(tensor.get()))) {
    case 1: return Fill<uint8_t>(tensor, bit);
    case 2: return Fill<uint16_t>(tensor, bit);
    case 4: return Fill<uint32_t>(tensor, bit);
    default: return Fill<uint64_t>(tensor, bit);
  }
}

template <typename T>
hr::Tensor NumberTensor(const hr::Env& env, hr_dtype dtype, const std::vector<int64_t>& dims,
                        double number) {
  hr::Tensor tensor(env, dtype, dims);
  Fill<T>(tensor, [&] { return static_cast<T>(number); });
  return tensor;
}

// All elements are the number.
hr::Tensor Constant(const hr::Env& env, hr_dtype dtype, const std::vector<int64_t>& dims,
                    double number, const std::string& name) {
  switch (dtype) {
    case HR_FLOAT32: return NumberTensor<float>(env, dtype, dims, number);
    case HR_FLOAT64: return NumberTensor<double>(env, dtype, dims, number);
    case HR_INT32: return NumberTensor<int32_t>(env, dtype, dims, number);
    case HR_INT64: return NumberTensor<int64_t>(env, dtype, dims, number);
    case HR_BOOL:
    case HR_UINT8: return NumberTensor<uint8_t>(env, dtype, dims, number);
    default:
      throw UsageError("input '" + name + "' is " + hr_dtype_name(dtype) +
                       ", which cannot be filled with a number; give a .npy file");
  }
}

class Maker {
 public:
  Maker(const hr::Env& env, const FeedOptions& options)
      : env_(env),
        sources_(NamedValues(options.inputs, "--input")),
        shapes_(NamedValues(options.shapes, "--shape")),
        batch_(options.batch),
        seed_(options.seed) {}

  // Notes the names of open first dimensions.
  void FindBatchNames(const Json& signature) {
    for (const Json& port : signature["inputs"]) {
      const Json& dims = port["dims"];
      if (dims.is_array() && !dims.empty() && dims[0].is_string()) batch_names_.insert(dims[0]);
    }
  }

  // Every name that the options mention must be an input.
  void CheckNames(const Json& signature) const {
    for (const auto* names : {&sources_, &shapes_}) {
      for (const auto& [name, value] : *names) CheckName(signature, name);
    }
  }

  Feed Make(const Json& port, const std::string& fallback) {
    std::string name = port["name"];
    auto found = sources_.find(name);
    std::string source = found == sources_.end() ? fallback : found->second;
    if (source.empty()) {
      throw UsageError("input '" + name + "' (" + port["type"].get<std::string>() +
                       ") has no value; give --input " + name +
                       "=FILE.npy, random, zeros or a number");
    }
    return {name, source, TensorFor(name, source, port)};
  }

 private:
  static void CheckName(const Json& signature, const std::string& name) {
    for (const Json& port : signature["inputs"]) {
      if (port["name"] == name) return;
    }
    throw Failure("signature '" + signature["name"].get<std::string>() + "' has no input '" + name +
                  "'; it has" + NamesOf(signature["inputs"]));
  }

  hr::Tensor TensorFor(const std::string& name, const std::string& source, const Json& port) {
    double number = 0;
    auto [end, error] = std::from_chars(source.data(), source.data() + source.size(), number);
    bool is_number = error == std::errc() && end == source.data() + source.size();
    if (source != "random" && source != "zeros" && !is_number) {
      if (shapes_.contains(name))
        throw UsageError("--shape gives the shape of input '" + name + "', but the file '" +
                         source + "' has its own");
      return ReadNpy(env_, source);
    }
    auto shape = shapes_.find(name);
    std::vector<int64_t> dims = shape == shapes_.end() ? DeclaredDims(port, batch_, batch_names_)
                                                       : ParseDims(name, shape->second);
    hr_dtype dtype = DTypeNamed(port["dtype"]);
    if (is_number) return Constant(env_, dtype, dims, number, name);
    hr::Tensor tensor(env_, dtype, dims);
    if (source == "random") {
      FillRandom(tensor, seed_++);
    } else {
      std::memset(tensor.data<char>(), 0, tensor.bytes());
    }
    return tensor;
  }

  const hr::Env& env_;
  std::map<std::string, std::string> sources_;
  std::map<std::string, std::string> shapes_;
  int64_t batch_;
  std::set<std::string> batch_names_;
  uint64_t seed_;
};

}  // namespace

std::map<std::string, std::string> NamedValues(const std::vector<std::string>& items,
                                               const std::string& option) {
  std::map<std::string, std::string> out;
  for (const std::string& item : items) {
    size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == item.size())
      throw UsageError(option + " takes NAME=VALUE, got '" + item + "'");
    if (!out.emplace(item.substr(0, equals), item.substr(equals + 1)).second)
      throw UsageError(option + " names '" + item.substr(0, equals) + "' twice");
  }
  return out;
}

std::string NamesOf(const Json& items) {
  if (items.empty()) return " none";
  std::string out;
  for (const Json& item : items)
    out += (out.empty() ? ": " : ", ") + item["name"].get<std::string>();
  return out;
}

const Json& FindSignature(const Json& model, const std::string& name) {
  for (const Json& signature : model["signatures"]) {
    if (signature["name"] == name) return signature;
  }
  throw Failure("the model has no signature '" + name + "'; there are" +
                NamesOf(model["signatures"]));
}

std::vector<Feed> MakeFeeds(const hr::Env& env, const Json& signature, const FeedOptions& options,
                            const std::string& fallback) {
  Maker maker(env, options);
  maker.CheckNames(signature);
  maker.FindBatchNames(signature);
  std::vector<Feed> feeds;
  for (const Json& port : signature["inputs"]) feeds.push_back(maker.Make(port, fallback));
  return feeds;
}

}  // namespace headrace::tool
