#include "runtime/comm/calibration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/base/host.h"

namespace hr::comm {
namespace {

constexpr std::string_view kTitle = "headrace calibration ";
constexpr std::string_view kVersion = "1";
constexpr int64_t kMaxFile = 4096;
constexpr double kMaxSeconds = 1;  // of a message, or of a byte: more is nonsense

// The text up to `end`, which is taken from `text` together with it.
std::string_view Take(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) words.push_back(Take(line, ' '));
  return words;
}

bool ReadSeconds(std::string_view word, double& seconds) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  return error == std::errc() && end == word.data() + word.size() && seconds > 0 &&
         seconds < kMaxSeconds;
}

bool ReadCost(std::string_view latency, std::string_view per_byte, LinkCost& cost) {
  return ReadSeconds(latency, cost.latency) && ReadSeconds(per_byte, cost.per_byte);
}

// Replaces the link of that name, or takes the first free place.
bool ReadLink(const std::vector<std::string_view>& words, Calibration& out) {
  const std::string_view name = words[1];
  if (name.empty() || name.size() >= sizeof Calibration::Link::transport) return false;
  for (Calibration::Link& link : out.links) {
    const std::string_view known = link.name();
    if (!known.empty() && known != name) continue;
    link = {};
    std::copy(name.begin(), name.end(), link.transport);
    return ReadCost(words[2], words[3], link.cost);
  }
  return false;
}

bool ReadLine(const std::vector<std::string_view>& words, Calibration& out) {
  if (words.size() == 4 && words[0] == "link") return ReadLink(words, out);
  if (words.size() == 3 && words[0] == "shared") return ReadCost(words[1], words[2], out.shared);
  return words.size() == 2 && words[0] == "reduce" && ReadSeconds(words[1], out.per_reduced_byte);
}

}  // namespace

LinkCost Calibration::Of(std::string_view transport) const {
  LinkCost cost;
  for (const Link& link : links) {
    if (link.name().empty()) break;
    cost = link.cost;
    if (link.name() == transport) break;
  }
  return cost;
}

Result<Calibration> ParseCalibration(std::string_view text, std::string_view machine) {
  std::string_view title = Take(text, '\n');
  if (!title.starts_with(kTitle)) return DataLoss("expected '", kTitle, kVersion, "' in line 1");
  title.remove_prefix(kTitle.size());
  if (title != kVersion) {
    return FailedPrecondition("it is of version '", title, "', and this library reads ", kVersion);
  }
  std::string_view owner = Take(text, '\n');
  if (Take(owner, ' ') != "machine" || owner.empty()) {
    return DataLoss("expected 'machine NAME' in line 2");
  }
  if (owner != machine) {
    return FailedPrecondition("it is of the machine '", owner, "', and this is '", machine, "'");
  }
  Calibration out;
  out.source = Calibration::Source::kFile;
  for (int number = 3; !text.empty(); ++number) {
    const std::string_view line = Take(text, '\n');
    if (line == "end") return out;
    if (ReadLine(WordsOf(line), out)) continue;
    return DataLoss("line ", number, " is invalid: '", line.substr(0, 80),
                    "'; costs are more than 0 and less than 1 second");
  }
  return DataLoss("it has no 'end'");
}

Result<Calibration> ReadCalibration(const std::string& path) {
  HR_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  if (file.size() > kMaxFile) return DataLoss("it has more than ", kMaxFile, " bytes");
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  HR_RETURN_IF_ERROR(file.ReadAt(0, bytes));
  return ParseCalibration(AsText(bytes), HostName());
}

std::string CalibrationPath(const char* (*environment)(const char* name)) {
  auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  if (auto given = value("HEADRACE_CALIBRATION"); !given.empty()) return std::string(given);
  const std::string name = Cat("/headrace/calibration-", HostName(), ".txt");
  if (auto cache = value("XDG_CACHE_HOME"); !cache.empty()) return Cat(cache, name);
  if (auto home = value("HOME"); !home.empty()) return Cat(home, "/.cache", name);
  return "";
}

}  // namespace hr::comm
