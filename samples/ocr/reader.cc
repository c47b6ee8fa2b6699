#include "reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

namespace {

// As PP-OCR's makers have it.
constexpr int64_t kLeastSide = 736, kMultiple = 32;  // of what the detector sees
constexpr float kText = 0.3f, kLine = 0.5f;          // least values of a pixel, of a line's mean
// The detector sees the core of a line. Its makers grow by 1.5 to 2; more keeps spaces between
// words.
constexpr float kGrow = 2.2f;
constexpr int64_t kLineHeight = 48, kLeastWidth = 320;
constexpr size_t kBatch = 6;

int64_t seen(int64_t side, double scale) {
  const double units = static_cast<double>(side) * scale / kMultiple;
  return std::max<int64_t>(1, std::lround(units)) * kMultiple;
}

struct Part {
  int64_t left, top, right, bottom;  // with the last
};

// The pixels around `start` that are text and touch each other, which are taken out of `text`.
Part take_part(std::vector<bool>& text, const Map& map, int64_t start) {
  Part part{map.width, map.height, -1, -1};
  std::vector<int64_t> open = {start};
  text[static_cast<size_t>(start)] = false;
  while (!open.empty()) {
    const int64_t x = open.back() % map.width, y = open.back() / map.width;
    open.pop_back();
    part = {std::min(part.left, x), std::min(part.top, y), std::max(part.right, x),
            std::max(part.bottom, y)};
    for (int64_t j = std::max<int64_t>(y - 1, 0); j <= std::min(y + 1, map.height - 1); ++j) {
      for (int64_t i = std::max<int64_t>(x - 1, 0); i <= std::min(x + 1, map.width - 1); ++i) {
        const int64_t at = j * map.width + i;
        if (!text[static_cast<size_t>(at)]) continue;
        text[static_cast<size_t>(at)] = false;
        open.push_back(at);
      }
    }
  }
  return part;
}

float mean(const Map& map, const Part& part) {
  double sum = 0;
  for (int64_t y = part.top; y <= part.bottom; ++y) {
    for (int64_t x = part.left; x <= part.right; ++x) {
      sum += map.values[static_cast<size_t>(y * map.width + x)];
    }
  }
  return static_cast<float>(
      sum / static_cast<double>((part.right - part.left + 1) * (part.bottom - part.top + 1)));
}

// Lines next to each other are read from the left.
void sort_lines(std::vector<Box>& boxes) {
  const auto middle = [](const Box& box) { return (box.top + box.bottom) / 2; };
  std::sort(boxes.begin(), boxes.end(),
            [&](const Box& a, const Box& b) { return middle(a) < middle(b); });
  for (auto first = boxes.begin(); first != boxes.end();) {
    const auto last = std::find_if(first, boxes.end(),
                                   [&](const Box& box) { return middle(box) >= first->bottom; });
    std::sort(first, last, [](const Box& a, const Box& b) { return a.left < b.left; });
    first = last;
  }
}

// A row of the recognizer's output: the likeliest character at each place, each run of one once.
Line decode(const float* chances, int64_t places, const std::vector<std::string>& characters) {
  Line out{};
  size_t before = 0, count = 0;
  for (int64_t i = 0; i < places; ++i, chances += characters.size()) {
    const float* best = std::max_element(chances, chances + characters.size());
    const auto at = static_cast<size_t>(best - chances);
    if (at != 0 && at != before) {
      out.text += characters[at];
      out.sure += *best;
      ++count;
    }
    before = at;
  }
  if (count > 0) out.sure /= static_cast<float>(count);
  out.text.erase(0, out.text.find_first_not_of(' '));
  out.text.erase(out.text.find_last_not_of(' ') + 1);
  return out;
}

int64_t width_of(const Box& box) {
  return std::max<int64_t>(1, std::lround(std::ceil(kLineHeight * box.width() / box.height())));
}

}  // namespace

Detector::Detector(const hr::Env& env, const std::string& model)
    : env_(env), session_(hr::Model::load(env, model)) {}

Map Detector::look(const Image& page) const {
  const double least = static_cast<double>(std::min(page.height, page.width));
  const double scale = std::max(1.0, kLeastSide / least);
  Map map{seen(page.height, scale), seen(page.width, scale), {}};
  const hr::Tensor input(env_, HR_FLOAT32, {1, 3, map.height, map.width});
  const Box all{0, 0, static_cast<float>(page.width), static_cast<float>(page.height)};
  resample(page, all, map.height, map.width, map.width, input.data<float>());
  hr::Call call(session_, "infer");
  call.bind("x", input).run();
  const hr::Tensor values = call.result("sigmoid_0.tmp_0");
  map.values.assign(values.data<float>(), values.data<float>() + values.elements());
  return map;
}

std::vector<Box> find_lines(const Map& map, int64_t page_height, int64_t page_width) {
  std::vector<bool> text(map.values.size());
  std::transform(map.values.begin(), map.values.end(), text.begin(),
                 [](float value) { return value > kText; });
  const float down = static_cast<float>(page_height) / static_cast<float>(map.height);
  const float along = static_cast<float>(page_width) / static_cast<float>(map.width);
  std::vector<Box> out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!text[i]) continue;
    const Part part = take_part(text, map, static_cast<int64_t>(i));
    const auto width = static_cast<float>(part.right - part.left + 1);
    const auto height = static_cast<float>(part.bottom - part.top + 1);
    if (std::min(width, height) < 3 || mean(map, part) < kLine) continue;
    const float more = width * height * kGrow / (2 * (width + height));
    const Box box = {std::max(0.0f, (static_cast<float>(part.left) - more) * along),
                     std::max(0.0f, (static_cast<float>(part.top) - more) * down),
                     (static_cast<float>(part.right + 1) + more) * along,
                     (static_cast<float>(part.bottom + 1) + more) * down};
    out.push_back({box.left, box.top, std::min(box.right, static_cast<float>(page_width)),
                   std::min(box.bottom, static_cast<float>(page_height))});
  }
  sort_lines(out);
  return out;
}

Recognizer::Recognizer(const hr::Env& env, const std::string& model)
    : env_(env), model_(hr::Model::load(env, model)), session_(model_), characters_{""} {
  const auto described = nlohmann::json::parse(model_.describe());
  const auto& metadata = described.at("metadata");
  if (!metadata.contains("character")) {
    throw std::runtime_error("'" + model + "' does not say which characters it knows");
  }
  const std::string list = metadata.at("character");
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find('\n', at), list.size());
    characters_.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  characters_.push_back(" ");
}

std::vector<Line> Recognizer::read(const Image& page, const std::vector<Box>& boxes) const {
  std::vector<size_t> order(boxes.size());  // of their widths, so that little is filled up
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return width_of(boxes[a]) < width_of(boxes[b]); });
  std::vector<Line> out(boxes.size());
  for (size_t first = 0; first < order.size(); first += kBatch) {
    const size_t last = std::min(first + kBatch, order.size());
    std::vector<Box> some;
    for (size_t i = first; i < last; ++i) some.push_back(boxes[order[i]]);
    std::vector<Line> lines = read_batch(page, some);
    for (size_t i = first; i < last; ++i) out[order[i]] = std::move(lines[i - first]);
  }
  return out;
}

// Each line as high as the recognizer wants it, and all as wide as the last.
std::vector<Line> Recognizer::read_batch(const Image& page, const std::vector<Box>& boxes) const {
  const int64_t width = std::max(kLeastWidth, width_of(boxes.back()));
  const hr::Tensor input(env_, HR_FLOAT32,
                         {static_cast<int64_t>(boxes.size()), 3, kLineHeight, width});
  std::fill_n(input.data<float>(), input.elements(), 0.0f);
  for (size_t i = 0; i < boxes.size(); ++i) {
    float* to = input.data<float>() + static_cast<int64_t>(i) * 3 * kLineHeight * width;
    resample(page, boxes[i], kLineHeight, width_of(boxes[i]), width, to);
  }
  hr::Call call(session_, "infer");
  call.bind("x", input).run();
  const hr::Tensor chances = call.result("softmax_11.tmp_0");
  const std::vector<int64_t> dims = chances.dims();
  if (dims[2] != static_cast<int64_t>(characters_.size())) {
    throw std::runtime_error("the recognizer has " + std::to_string(dims[2]) +
                             " classes, but names " + std::to_string(characters_.size()));
  }
  std::vector<Line> out;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const float* row = chances.data<float>() + static_cast<int64_t>(i) * dims[1] * dims[2];
    out.push_back(decode(row, dims[1], characters_));
    out.back().box = boxes[i];
  }
  return out;
}
