#include "runtime/train/best.h"

#include <charconv>

#include "runtime/base/strings.h"

namespace hr::train {
namespace {

constexpr char kMetricKey[] = "headrace.best.metric";
constexpr char kValueKey[] = "headrace.best.value";
constexpr char kStepKey[] = "headrace.best.step";
constexpr char kWaitsKey[] = "headrace.best.waits";

template <typename T>
bool Parse(const CheckpointMetadata& metadata, const char* key, T* out) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return false;
  const std::string& text = found->second;
  return std::from_chars(text.data(), text.data() + text.size(), *out).ec == std::errc();
}

// All digits that a double has.
std::string ExactText(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

bool BestEvaluation::Take(double value, int64_t step) {
  if (step == taken_step_) return false;
  taken_step_ = step;
  const bool better = smallest_ ? value < value_ : value > value_;
  const bool is_best = better || (std::isnan(value_) && !std::isnan(value));
  waits_ = is_best ? 0 : waits_ + 1;
  if (!is_best) return false;
  value_ = value;
  step_ = step;
  return true;
}

void BestEvaluation::AddTo(CheckpointMetadata* metadata) const {
  if (metric_.empty()) return;
  (*metadata)[kMetricKey] = metric_;
  (*metadata)[kValueKey] = ExactText(value_);
  (*metadata)[kStepKey] = Cat(step_);
  (*metadata)[kWaitsKey] = Cat(waits_);
}

void BestEvaluation::TakeFrom(const CheckpointMetadata& metadata) {
  const auto metric = metadata.find(kMetricKey);
  if (metric == metadata.end() || metric->second != metric_) return;
  BestEvaluation other(metric_, smallest_);
  const bool whole = Parse(metadata, kValueKey, &other.value_) &&
                     Parse(metadata, kStepKey, &other.step_) &&
                     Parse(metadata, kWaitsKey, &other.waits_);
  if (!whole) return;
  value_ = other.value_;
  step_ = other.step_;
  waits_ = other.waits_;
}

// KEY=VALUE, each on a line.
std::string BestEvaluation::Text() const {
  CheckpointMetadata metadata;
  AddTo(&metadata);
  std::string text;
  for (const auto& [key, value] : metadata) text += Cat(key, "=", value, "\n");
  return text;
}

void BestEvaluation::TakeText(std::string_view text) {
  CheckpointMetadata metadata;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.find('=');
    if (equals == line.npos) continue;
    metadata[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  TakeFrom(metadata);
}

}  // namespace hr::train
