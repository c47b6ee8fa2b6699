// What kind of file is this? Asks Magika's network (Apache-2.0, from its package), which looks at
// the first and the last bytes of a file and never at its name.
//
//   filetype --model MODEL.hrg --config config.min.json [--json] FILE...
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include <headrace/headrace.hpp>

namespace {

using Json = nlohmann::json;

struct Options {
  std::string model, config;
  bool json = false;
  std::vector<std::string> files;
};

const char kUsage[] =
    "usage: filetype --model MODEL.hrg --config config.min.json [--json] FILE...\n"
    "samples/filetype/run gets model and configuration, and calls it with them.\n";

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--json") {
      out.json = true;
    } else if (argument == "--model" || argument == "--config") {
      if (++i == argc) throw std::invalid_argument(argument + " expects a file, got nothing");
      (argument == "--model" ? out.model : out.config) = argv[i];
    } else if (argument.rfind("--", 0) == 0) {
      throw std::invalid_argument("unknown option '" + argument + "'");
    } else {
      out.files.push_back(argument);
    }
  }
  if (out.model.empty() || out.config.empty() || out.files.empty()) {
    throw std::invalid_argument("a model, a configuration and at least one file are needed");
  }
  return out;
}

// What the package says of its network.
struct Config {
  std::vector<std::string> labels;
  size_t first = 0, last = 0;  // how many bytes it sees
  size_t block = 0;            // of which it looks for them
  size_t least = 0;            // files with fewer are not asked about
  int32_t padding = 0;
  double threshold = 0;
  Json thresholds, names;

  explicit Config(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read '" + path + "'");
    const Json json = Json::parse(file);
    labels = json.at("target_labels_space").get<std::vector<std::string>>();
    first = json.at("beg_size");
    last = json.at("end_size");
    block = json.at("block_size");
    least = json.at("min_file_size_for_dl");
    padding = json.at("padding_token");
    threshold = json.at("medium_confidence_threshold");
    thresholds = json.at("thresholds");
    names = json.at("overwrite_map");
  }
  // The name of a kind; "unknown" if the network is not sure enough.
  std::string name(size_t label, double score) const {
    const std::string& text = labels[label];
    if (score < thresholds.value(text, threshold)) return "unknown";
    return names.value(text, text);
  }
};

bool is_space(char c) { return std::strchr(" \t\n\r\v\f", c) != nullptr && c != 0; }

std::string part(std::ifstream& file, std::streamoff at, size_t size) {
  std::string out(size, 0);
  file.seekg(at);
  file.read(out.data(), static_cast<std::streamsize>(size));
  out.resize(static_cast<size_t>(file.gcount()));
  return out;
}

// The first and the last bytes, without the white space around them, as numbers; short ones are
// padded towards the middle. Returns false if there is too little to look at.
bool look(const Config& config, const std::string& path, int32_t* features) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) throw std::runtime_error("cannot read '" + path + "'");
  const auto block = static_cast<std::streamoff>(config.block);
  const auto count = static_cast<size_t>(std::min(size, block));
  std::string begin = part(file, 0, count);
  file.clear();
  std::string end = part(file, size - static_cast<std::streamoff>(count), count);
  begin.erase(begin.begin(), std::find_if_not(begin.begin(), begin.end(), is_space));
  end.erase(std::find_if_not(end.rbegin(), end.rend(), is_space).base(), end.end());
  std::fill_n(features, config.first + config.last, config.padding);
  const size_t first = std::min(begin.size(), config.first);
  const size_t last = std::min(end.size(), config.last);
  const auto number = [](char c) { return static_cast<int32_t>(static_cast<unsigned char>(c)); };
  std::transform(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(first), features,
                 number);
  std::transform(end.end() - static_cast<std::ptrdiff_t>(last), end.end(),
                 features + config.first + config.last - last, number);
  return begin.size() >= config.least;
}

void print(const Options& options, const std::string& path, const std::string& kind, double score) {
  if (options.json) {
    std::printf("%s\n", Json{{"file", path}, {"kind", kind}, {"score", score}}.dump().c_str());
  } else {
    std::printf("%s: %s (%.1f %%)\n", path.c_str(), kind.c_str(), 100 * score);
  }
}

// All files in one run: a batch.
void classify(const Options& options) {
  const Config config(options.config);
  const hr::Env env;
  const hr::Session session(hr::Model::load(env, options.model));
  const size_t count = options.files.size(), width = config.first + config.last;
  hr::Tensor bytes(env, HR_INT32, {static_cast<int64_t>(count), static_cast<int64_t>(width)});
  std::vector<bool> enough;
  for (size_t i = 0; i < count; ++i) {
    enough.push_back(look(config, options.files[i], bytes.data<int32_t>() + i * width));
  }
  hr::Call call(session, "infer");
  call.bind("bytes", bytes);
  call.run();
  const hr::Tensor chances = call.result("target_label");
  if (chances.elements() != static_cast<int64_t>(count * config.labels.size())) {
    throw std::runtime_error("the model knows other kinds than '" + options.config + "'");
  }
  for (size_t i = 0; i < count; ++i) {
    const float* row = chances.data<float>() + i * config.labels.size();
    const auto best = static_cast<size_t>(std::max_element(row, row + config.labels.size()) - row);
    if (enough[i]) {
      print(options, options.files[i], config.name(best, row[best]), row[best]);
    } else {
      print(options, options.files[i], "too short to say", 0);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    classify(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "filetype: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "filetype: %s\n", error.what());
    return 1;
  }
}
