#include "runtime/train/progress.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/host.h"
#include "runtime/base/strings.h"

namespace hr::train {
namespace {

constexpr int kLeastBar = 5;
constexpr int kMostBar = 40;
constexpr double kLeastSeconds = 0.1;  // over which a speed says something
constexpr char kEraseToEnd[] = "\x1b[K";

// "11,832", "4.25", "0.0012"
std::string NumberText(double value) {
  char text[64];
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (std::fabs(value) < 1000 || std::fabs(value) >= 1e15) {
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.0f", value);
  std::string out = text;
  size_t first = out[0] == '-' ? 1 : 0;
  for (size_t i = out.size(); i > first + 3; i -= 3) out.insert(i - 3, 1, ',');
  return out;
}

// "0:04", "12:30", "3:07:09"
std::string DurationText(double seconds) {
  constexpr double kMost = 999.0 * 3600;
  const int64_t whole = std::lround(std::clamp(seconds, 0.0, kMost));
  char text[32];
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d:%02d", static_cast<int>(whole / 3600),
                  static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  }
  return text;
}

double Fraction(const ProgressState& state) {
  if (state.total <= 0) return 1;
  return std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0);
}

std::string BarText(double fraction, int width) {
  auto filled = static_cast<size_t>(fraction * width);
  std::string bar(static_cast<size_t>(width), ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled < bar.size()) bar[filled] = '>';
  return Cat("[", bar, "]");
}

std::string CountText(const ProgressState& state) {
  if (state.total < 0) return Cat(state.done);
  std::string percent = Cat(static_cast<int>(Fraction(state) * 100), "%");
  percent.insert(0, 4 - std::min<size_t>(4, percent.size()), ' ');
  return Cat(percent, " ", state.done, "/", state.total);
}

// Rate, ETA and metrics.
std::string DetailText(const ProgressState& state) {
  std::string text;
  const bool measured = state.seconds >= kLeastSeconds;
  if (measured && state.items > 0) {
    text +=
        Cat("  ", NumberText(std::round(state.items / state.seconds)), " ", state.item_name, "/s");
  }
  int64_t fresh = state.done - state.resumed_from;
  if (measured && state.total > state.done && fresh > 0) {
    double left = static_cast<double>(state.total - state.done);
    text += Cat("  ETA ", DurationText(state.seconds / static_cast<double>(fresh) * left));
  } else if (state.total >= 0 && state.done >= state.total) {
    text += Cat("  in ", DurationText(state.seconds));
  }
  for (const ProgressMetric& metric : state.metrics) {
    text += Cat("  ", metric.name, " ", NumberText(metric.value));
  }
  return text;
}

}  // namespace

std::string RenderProgress(const ProgressState& state, int width, bool bar) {
  std::string line(state.label);
  if (!line.empty()) line += "  ";
  std::string rest = Cat(CountText(state), DetailText(state));
  int room = std::min(kMostBar, width - static_cast<int>(line.size() + rest.size()) - 3);
  if (bar && state.total >= 0 && room >= kLeastBar)
    line += Cat(BarText(Fraction(state), room), " ");
  line += rest;
  if (static_cast<int>(line.size()) > width) line.resize(static_cast<size_t>(std::max(width, 0)));
  return line;
}

Progress::Progress(int64_t done, int64_t total, ProgressOptions options)
    : options_(std::move(options)) {
  if (options_.clock == nullptr) options_.clock = &SystemClock();
  terminal_ = options_.terminal.value_or(IsTerminal(options_.out));
  state_ = {.label = options_.label,
            .done = done,
            .total = total,
            .resumed_from = done,
            .item_name = options_.item_name};
  begin_nanos_ = options_.clock->NowNanos();
  last_draw_nanos_ = begin_nanos_;
}

Progress::~Progress() { Finish(); }

void Progress::Update(int64_t done, int64_t items, std::span<const ProgressMetric> metrics) {
  if (finished_) return;
  int64_t now = options_.clock->NowNanos();
  state_.done = done;
  state_.items += static_cast<double>(items);
  state_.seconds = static_cast<double>(now - begin_nanos_) * 1e-9;
  metrics_.assign(metrics.begin(), metrics.end());
  drawn_ = false;
  const double lines = begun_ ? options_.line_seconds : options_.first_seconds;
  const double pause = terminal_ ? options_.bar_seconds : lines;
  if (static_cast<double>(now - last_draw_nanos_) * 1e-9 < pause) return;
  last_draw_nanos_ = now;
  Draw();
}

void Progress::Draw() {
  constexpr int kNoLimit = 1 << 20;
  int width = options_.width > 0 ? options_.width : TerminalWidth(options_.out);
  state_.metrics = metrics_;
  // One column less: terminals wrap when the last one is written.
  std::string line = RenderProgress(state_, terminal_ ? width - 1 : kNoLimit, terminal_);
  Write(terminal_ ? Cat("\r", line, kEraseToEnd) : Cat(line, "\n"));
  drawn_ = begun_ = true;
}

void Progress::Message(std::string_view text) {
  Write(terminal_ && !finished_ ? Cat("\r", text, kEraseToEnd, "\n") : Cat(text, "\n"));
  if (terminal_ && !finished_) Draw();
}

void Progress::Finish() {
  if (finished_) return;
  if (!drawn_ || terminal_) Draw();
  if (terminal_) Write("\n");
  finished_ = true;
}

void Progress::Write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), options_.out);
  std::fflush(options_.out);
}

}  // namespace hr::train
