// The two networks of PP-OCR: one sees where there is text, the other reads a line of it.
#ifndef HEADRACE_SAMPLES_READER_H_
#define HEADRACE_SAMPLES_READER_H_

#include "image.h"

// Where the detector sees text: values [height, width] from 0 to 1, of the whole page.
struct Map {
  int64_t height, width;
  std::vector<float> values;
};

struct Line {
  Box box;
  std::string text;
  float sure;  // the mean chance of its characters
};

class Detector {
 public:
  Detector(const hr::Env& env, const std::string& model);
  Map look(const Image& page) const;

 private:
  const hr::Env& env_;
  hr::Session session_;
};

// Returns the boxes of the lines, on a page of this size, from top to bottom. Lines are upright:
// those of a page that is turned are not found as such.
std::vector<Box> find_lines(const Map& map, int64_t page_height, int64_t page_width);

class Recognizer {
 public:
  Recognizer(const hr::Env& env, const std::string& model);
  std::vector<Line> read(const Image& page, const std::vector<Box>& boxes) const;

 private:
  std::vector<Line> read_batch(const Image& page, const std::vector<Box>& boxes) const;

  const hr::Env& env_;
  hr::Model model_;
  hr::Session session_;
  std::vector<std::string> characters_;  // by class; that of class 0 is none
};

#endif
