// Progress of a long piece of work: a bar that is redrawn on a terminal, plain lines elsewhere.
//
//   train  [==========>         ]  52% 489/938  11,832 images/s  ETA 0:04  loss 0.4127
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cancel.h"

namespace hr::train {

// A number shown behind the bar.
struct ProgressMetric {
  std::string name;
  double value = 0;
};

// What one drawing shows.
struct ProgressState {
  std::string_view label;
  int64_t done = 0;
  int64_t total = -1;        // -1: unknown, so no bar, percentage and ETA
  double seconds = 0;        // since the work began (or was resumed)
  int64_t resumed_from = 0;  // what was done then already, which no rate counts
  double items = 0;          // handled in those seconds
  std::string_view item_name;
  std::span<const ProgressMetric> metrics;
};

// One line of at most `width` columns without a line end. `bar`: with the bar.
std::string RenderProgress(const ProgressState& state, int width, bool bar);

struct ProgressOptions {
  std::FILE* out = stderr;       // must outlive the Progress
  std::optional<bool> terminal;  // default: whether `out` is one
  int width = 0;                 // columns; 0: the terminal's, asked for at every drawing
  std::string label;
  std::string item_name = "images";
  double bar_seconds = 0.1;      // between two drawings on a terminal
  double line_seconds = 10;      // between two lines elsewhere
  double first_seconds = 1;      // before the first of them, which shows that all is well
  const Clock* clock = nullptr;  // null: SystemClock()
};

// One thread at a time. Failures to write are ignored: progress is no result.
class Progress {
 public:
  // `done` of `total` steps (-1: unknown) are done already.
  Progress(int64_t done, int64_t total, ProgressOptions options);
  // Finishes.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps are done by now; the last of them handled `items` items. Draws if it is time.
  void Update(int64_t done, int64_t items, std::span<const ProgressMetric> metrics);
  // A message on a line of its own, above the bar.
  void Message(std::string_view text);
  // Draws the last state and ends the line. Later calls do nothing.
  void Finish();

 private:
  void Draw();
  void Write(std::string_view text);

  ProgressOptions options_;
  ProgressState state_;
  std::vector<ProgressMetric> metrics_;
  bool terminal_;
  bool finished_ = false;
  bool drawn_ = false;  // the current state
  bool begun_ = false;  // something has been drawn
  int64_t begin_nanos_;
  int64_t last_draw_nanos_;
};

}  // namespace hr::train
