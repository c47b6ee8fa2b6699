// headrace comm dump: flight recorders for people.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "tools/headrace/command.h"
#include "tools/headrace/errors.h"
#include "tools/headrace/output.h"

namespace headrace::tool {
namespace {

constexpr char kCommDumpDescription[] =
    "Shows what groups do, or did last, from the files of their flight recorders";
constexpr char kCommDumpFooter[] =
    "A group keeps its last 2,000 operations in FOLDER/NAME-EPOCH-RANK.flight, where\n"
    "hr_group_options.dump_folder or HEADRACE_DUMP_FOLDER says so: the file tells what a process "
    "is\n"
    "at while it runs or hangs, and what it was at when it was killed. A group that fails leaves\n"
    "them as .json, one that is closed leaves nothing. Given the files of all ranks, the end "
    "names\n"
    "those that are behind. Times are seconds on the machine's monotonic clock; processes of one\n"
    "machine share it.\n\n"
    "Example:\n"
    "  HEADRACE_DUMP_FOLDER=dumps headrace launch -n 4 -- ./train; headrace comm dump dumps";

struct CommDumpOptions {
  std::vector<std::string> paths;
  size_t last = 20;
  std::string json;
};

struct Recorder {
  std::string path;
  Json records;
};

Json ReadJson(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Failure("cannot read '" + path + "'");
  Json records = Json::parse(text.str(), nullptr, false);
  constexpr const char* kNumbers[] = {"number", "channel", "sequence", "posted_nanos",
                                      "ended_nanos"};
  bool good = records.is_array();
  for (size_t i = 0; good && i < records.size(); ++i) {
    const Json& record = records[i];
    good = record.is_object() && record.contains("operation") && record["operation"].is_string() &&
           record.contains("state") && record["state"].is_string() &&
           std::all_of(std::begin(kNumbers), std::end(kNumbers), [&](const char* name) {
             return record.contains(name) && record[name].is_number_integer();
           });
  }
  if (!good) throw Failure("'" + path + "' is not a file of a flight recorder");
  return records;
}

Json ReadRecords(const std::string& path) {
  if (std::filesystem::path(path).extension() != ".flight") return ReadJson(path);
  return Described(hr_dump_read, path.c_str());
}

// Of the two that a rank may have left, the one that it kept to the end.
bool IsRecorder(const std::filesystem::path& path) {
  std::filesystem::path flight = path;
  return path.extension() == ".flight" ||
         (path.extension() == ".json" &&
          !std::filesystem::exists(flight.replace_extension(".flight")));
}

std::vector<Recorder> ReadAll(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (IsRecorder(entry.path())) files.push_back(entry.path().string());
    }
    if (files.size() == before) {
      throw Failure("there are no .flight and no .json files in '" + path + "'");
    }
    std::sort(files.begin() + static_cast<ptrdiff_t>(before), files.end());
  }
  std::vector<Recorder> recorders;
  for (const std::string& file : files) recorders.push_back({file, ReadRecords(file)});
  return recorders;
}

std::string SecondsText(int64_t nanos) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(nanos) * 1e-9);
  return text;
}

std::string TookText(const Json& record) {
  const int64_t ended = record["ended_nanos"], posted = record["posted_nanos"];
  if (ended == 0) return "-";
  char text[40];
  std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(ended - posted) * 1e-3);
  return text;
}

void PrintRecorder(const Recorder& recorder, size_t last) {
  const Json& records = recorder.records;
  const size_t first = records.size() - std::min(last, records.size());
  Print("%s: %s, the last %zu\n", recorder.path.c_str(),
        CountText(records.size(), "operation").c_str(), records.size() - first);
  std::vector<std::vector<std::string>> rows = {
      {"number", "group", "sequence", "posted at", "took", "state", "operation"}};
  for (size_t i = first; i < records.size(); ++i) {
    const Json& record = records[i];
    const int64_t channel = record["channel"];
    rows.push_back({Grouped(record["number"]), channel == 0 ? "all" : "split " + Grouped(channel),
                    Grouped(record["sequence"]), SecondsText(record["posted_nanos"]),
                    TookText(record), record["state"], record["operation"]});
  }
  PrintTable(rows, 2);
  Print("\n");
}

// NAME-EPOCH of NAME-EPOCH-RANK: ranks of one group have it in common.
std::string GroupOf(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  return stem.substr(0, stem.rfind('-'));
}

bool IsCollective(const Json& record) {
  const std::string operation = record["operation"];
  return !operation.starts_with("send(") && !operation.starts_with("recv(");
}

// Which file has called how many collectives of the whole group, and which one it was in.
void PrintProgress(const std::vector<Recorder>& recorders) {
  std::map<std::string, std::vector<std::vector<std::string>>> groups;
  for (const Recorder& recorder : recorders) {
    const Json* latest = nullptr;
    for (const Json& record : recorder.records) {
      if (record["channel"] == 0 && IsCollective(record)) latest = &record;
    }
    if (latest == nullptr) continue;
    groups[GroupOf(recorder.path)].push_back({recorder.path,
                                              Grouped((*latest)["sequence"].get<int64_t>() + 1),
                                              (*latest)["state"], (*latest)["operation"]});
  }
  for (auto& [group, rows] : groups) {
    if (rows.size() < 2) continue;
    rows.insert(rows.begin(), {"file", "collectives called", "last one", "operation"});
    Print("group %s, all its ranks\n", group.c_str());
    PrintTable(rows, 2);
  }
}

int RunCommDump(const CommDumpOptions& options) {
  const std::vector<Recorder> recorders = ReadAll(options.paths);
  if (!options.json.empty()) {
    Json all = Json::object();
    for (const Recorder& recorder : recorders) all[recorder.path] = recorder.records;
    WriteJson(options.json, all);
  }
  if (options.json == "-") return kOk;
  for (const Recorder& recorder : recorders) PrintRecorder(recorder, options.last);
  PrintProgress(recorders);
  return kOk;
}

}  // namespace

Command AddCommDump(CLI::App& comm) {
  auto options = std::make_shared<CommDumpOptions>();
  CLI::App* app = AddCommand(comm, "dump", kCommDumpDescription, kCommDumpFooter);
  AddWords(app, "PATH", options->paths, "files, or folders of them");
  AddNumber(app, "--last", options->last, 0, "operations to show of each file (20)");
  AddText(app, "--json", options->json, "FILE",
          "write all of them there; - is standard output, alone");
  return {app, [options] { return RunCommDump(*options); }};
}

}  // namespace headrace::tool
