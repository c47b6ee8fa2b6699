// What does a page say? Finds the lines of text in a picture and reads them, with the detector and
// the recognizer of PP-OCR (Apache-2.0, from the package of RapidOCR).
//
//   ocr --detector MODEL.hrg --recognizer MODEL.hrg [--out DRAWN.png] [--map MAP.npy] [--json] PAGE
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reader.h"

namespace {

using Json = nlohmann::json;

struct Options {
  std::string detector, recognizer, out, map, page;
  bool json = false;
};

const char kUsage[] =
    "usage: ocr --detector MODEL.hrg --recognizer MODEL.hrg [--out DRAWN.png] [--map MAP.npy]\n"
    "           [--json] PAGE\n\n"
    "  PAGE             a picture, PNG or JPEG, of lines that are not turned\n"
    "  --out DRAWN.png  the page with the lines that were found, green where it is sure\n"
    "  --map MAP.npy    where the detector sees text, for NumPy\n"
    "  --json           one object a line: box, score, text\n\n"
    "samples/ocr/run gets the models, and calls it with them.\n";

Options parse(int argc, char** argv) {
  Options out;
  const std::pair<const char*, std::string*> named[] = {{"--detector", &out.detector},
                                                        {"--recognizer", &out.recognizer},
                                                        {"--out", &out.out},
                                                        {"--map", &out.map}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string* value = &out.page;
    for (const auto& [name, to] : named) {
      if (argument == name) value = to;
    }
    if (argument == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--json") {
      out.json = true;
    } else if (value != &out.page) {
      if (++i == argc) throw std::invalid_argument(argument + " expects a file, got nothing");
      *value = argv[i];
    } else if (argument.rfind("--", 0) == 0) {
      throw std::invalid_argument("unknown option '" + argument + "'");
    } else if (!out.page.empty()) {
      throw std::invalid_argument("expected one page, got '" + argument + "', too");
    } else {
      out.page = argument;
    }
  }
  if (out.detector.empty() || out.recognizer.empty() || out.page.empty()) {
    throw std::invalid_argument("two models and a page are needed");
  }
  return out;
}

// NumPy's format, version 1: magic, the size of the header, the header, the numbers.
void write_map(const Map& map, const std::string& path) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(map.height) + ", " + std::to_string(map.width) + "), }";
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(map.values.data()),
             static_cast<std::streamsize>(map.values.size() * sizeof(float)));
  if (!file.flush()) throw std::runtime_error("could not write '" + path + "'");
}

void print(const Options& options, const Line& line, size_t number) {
  if (options.json) {
    const Json out = {{"box", {line.box.left, line.box.top, line.box.right, line.box.bottom}},
                      {"score", line.sure},
                      {"text", line.text}};
    std::printf("%s\n", out.dump().c_str());
  } else {
    std::printf("%3zu  %5.1f %%  %s\n", number, 100 * line.sure, line.text.c_str());
  }
}

void run(const Options& options) {
  const hr::Env env;
  Image page = read_image(env, options.page);
  const Map map = Detector(env, options.detector).look(page);
  if (!options.map.empty()) write_map(map, options.map);
  const std::vector<Box> boxes = find_lines(map, page.height, page.width);
  const std::vector<Line> lines = Recognizer(env, options.recognizer).read(page, boxes);
  for (size_t i = 0; i < lines.size(); ++i) {
    print(options, lines[i], i + 1);
    draw_box(page, lines[i].box, lines[i].sure, i + 1);
  }
  if (lines.empty()) std::fprintf(stderr, "ocr: no text was found in '%s'\n", options.page.c_str());
  if (options.out.empty()) return;
  write_image(page, options.out);
  std::fprintf(stderr, "drawn to %s\n", options.out.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "ocr: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ocr: %s\n", error.what());
    return 1;
  }
}
