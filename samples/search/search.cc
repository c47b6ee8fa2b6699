// Which passages of a folder of text files answer a question? Compares what they mean: the
// directions of their sentence embeddings by MiniLM (Apache-2.0, from its packages).
//
//   search --model MODEL.hrg --vocabulary vocab.txt [--top N] [--json] QUESTION [FOLDER]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "embedder.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kShortest = 20, kLongest = 800;  // characters of a passage
constexpr std::uintmax_t kLargestFile = 4 << 20;

struct Options {
  std::string model, vocabulary, question, folder = SEARCH_FOLDER;
  size_t top = 5;
  bool json = false;
};

const char kUsage[] =
    "usage: search --model MODEL.hrg --vocabulary vocab.txt [--top N] [--json] QUESTION "
    "[FOLDER]\n\n"
    "  QUESTION  what you want to know, in quotes\n"
    "  FOLDER    where to look: all text files in it (default: the project's documentation)\n"
    "  --top N   passages to print (default 5)\n"
    "  --json    one object a line, with the passage's embedding\n\n"
    "samples/search/run gets model and vocabulary, and calls it with them.\n";

size_t count(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value < 1) {
    throw std::invalid_argument("--top expects a number of at least 1, got '" + text + "'");
  }
  return static_cast<size_t>(value);
}

Options parse(int argc, char** argv) {
  Options out;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--json") {
      out.json = true;
    } else if (argument == "--model" || argument == "--vocabulary" || argument == "--top") {
      if (++i == argc) throw std::invalid_argument(argument + " expects a value, got nothing");
      if (argument == "--model") out.model = argv[i];
      if (argument == "--vocabulary") out.vocabulary = argv[i];
      if (argument == "--top") out.top = count(argv[i]);
    } else if (argument.rfind("--", 0) == 0) {
      throw std::invalid_argument("unknown option '" + argument + "'");
    } else {
      rest.push_back(argument);
    }
  }
  if (out.model.empty() || out.vocabulary.empty() || rest.empty()) {
    throw std::invalid_argument("a model, a vocabulary and a question are needed");
  }
  if (rest.size() > 2) throw std::invalid_argument("put the question in quotes: \"what is it?\"");
  out.question = rest[0];
  if (rest.size() == 2) out.folder = rest[1];
  return out;
}

struct Passage {
  std::string file;
  size_t line;  // where it begins, from 1
  std::string text;
};

// Cuts a text into paragraphs: where a line is empty, and before a line that makes one too long.
void add_passages(const fs::path& path, std::vector<Passage>& out) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path.string() + "'");
  Passage passage{path.string(), 0, ""};
  const auto finish = [&] {
    if (passage.text.size() >= kShortest) out.push_back(passage);
    passage.text.clear();
  };
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find('\0') != std::string::npos) return;  // no text
    const bool empty = line.find_first_not_of(" \t\r") == std::string::npos;
    if (empty || passage.text.size() + line.size() > kLongest) finish();
    if (empty) continue;
    if (passage.text.empty()) passage.line = number;
    passage.text += (passage.text.empty() ? "" : "\n") + line;
  }
  finish();
}

bool is_text(const fs::directory_entry& entry) {
  static const char* const kEndings[] = {".txt", ".md", ".rst", ".html", ".tex"};
  const std::string ending = entry.path().extension().string();
  return entry.is_regular_file() && entry.file_size() <= kLargestFile &&
         std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](const char* one) { return ending == one; });
}

// Of all text files in the folder and in folders in it, but for hidden ones.
std::vector<Passage> passages(const std::string& folder) {
  if (!fs::is_directory(folder)) throw std::runtime_error("'" + folder + "' is no folder");
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(folder, options); at != fs::end(at); ++at) {
    const std::string name = at->path().filename().string();
    if (at->is_directory() && name[0] == '.') at.disable_recursion_pending();
    if (is_text(*at)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Passage> out;
  for (const fs::path& file : files) add_passages(file, out);
  if (out.empty()) {
    throw std::runtime_error("no passages in '" + folder +
                             "': expected files named *.txt, *.md, *.rst, *.html or *.tex");
  }
  return out;
}

std::vector<Vector> embed(const Embedder& embedder, const std::vector<Passage>& all) {
  std::vector<std::string> texts;
  for (const Passage& passage : all) texts.push_back(passage.text);
  hr::Progress progress("reading", "passages", 0, static_cast<int64_t>(texts.size()));
  size_t before = 0;
  return embedder.embed(texts, [&](size_t done) {
    progress.update(static_cast<int64_t>(done), static_cast<int64_t>(done - before));
    before = done;
  });
}

// The passage, as far as it is needed to recognize it.
std::string beginning(const std::string& text) {
  constexpr size_t kShown = 400;
  return text.size() <= kShown ? text : text.substr(0, text.rfind(' ', kShown)) + " …";
}

void print(const Options& options, const Passage& passage, const Vector& vector, float score) {
  if (options.json) {
    const Json out = {{"score", score},
                      {"file", passage.file},
                      {"line", passage.line},
                      {"text", passage.text},
                      {"embedding", vector}};
    std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    std::printf("\n%.3f  %s:%zu\n%s\n", score, passage.file.c_str(), passage.line,
                beginning(passage.text).c_str());
  }
}

void run(const Options& options) {
  const std::vector<Passage> all = passages(options.folder);
  const hr::Env env;
  const Embedder embedder(env, options.model, options.vocabulary);
  const Vector question = embedder.embed({options.question})[0];
  const std::vector<Vector> vectors = embed(embedder, all);
  std::vector<std::pair<float, size_t>> found;
  for (size_t i = 0; i < all.size(); ++i) {
    const float score =
        std::inner_product(question.begin(), question.end(), vectors[i].begin(), 0.0f);
    found.emplace_back(-score, i);
  }
  const size_t top = std::min(options.top, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(top), found.end());
  for (size_t i = 0; i < top; ++i) {
    const size_t at = found[i].second;
    print(options, all[at], vectors[at], -found[i].first);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "search: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "search: %s\n", error.what());
    return 1;
  }
}
