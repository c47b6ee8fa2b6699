#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "tools/headrace/machine.h"

namespace headrace::tool {
namespace {

// The file's text; empty if it cannot be read.
std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What follows "KEY <spaces>:" in a file of such lines; empty if there is none.
std::string ValueOf(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    if (line.find_last_not_of(" \t", colon - 1) + 1 != key.size()) continue;
    size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// "12345 kB" in bytes.
uint64_t Kilobytes(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10) * 1024;
}

std::string SystemText() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string Extensions(const std::string& cpuinfo) {
  std::string flags = ValueOf(cpuinfo, "flags");
  if (flags.empty()) flags = ValueOf(cpuinfo, "Features");  // Arm
  std::istringstream words(flags);
  std::string out;
  for (std::string word; words >> word;) {
    bool matters = word.rfind("avx", 0) == 0 || word.rfind("amx", 0) == 0 || word == "sse4_2" ||
                   word == "fma" || word == "asimd" || word.rfind("sve", 0) == 0;
    if (matters) out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

int UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// The folders of this process's control group and of those around it, in one hierarchy: the unified
// one, or that of `controller` in version 1.
std::vector<std::string> ControlGroups(const std::string& controller) {
  std::vector<std::string> out;
  std::istringstream lines(Slurp("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    bool unified = names == ",,";
    if (!unified && names.find("," + controller + ",") == std::string::npos) continue;
    std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      out.push_back(root + path);
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return out;
}

// The smaller of two limits, of which 0 is none.
template <typename T>
T Tighter(T a, T b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

double ProcessorQuota() {
  double limit = 0;
  for (const std::string& group : ControlGroups("cpu")) {
    double quota = 0, period = 0;
    if (std::istringstream v2(Slurp(group + "/cpu.max")); v2 >> quota >> period && period > 0)
      limit = Tighter(limit, quota / period);
    std::istringstream v1(Slurp(group + "/cpu.cfs_quota_us") + " " +
                          Slurp(group + "/cpu.cfs_period_us"));
    if (v1 >> quota >> period && quota > 0 && period > 0) limit = Tighter(limit, quota / period);
  }
  return limit;
}

uint64_t MemoryLimit(uint64_t memory) {
  uint64_t limit = 0;
  for (const std::string& group : ControlGroups("memory")) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      uint64_t bytes = std::strtoull(Slurp(group + file).c_str(), nullptr, 10);
      if (bytes < memory) limit = Tighter(limit, bytes);  // more than there is: no limit
    }
  }
  return limit;
}

// The word in brackets of "always [madvise] never".
std::string Chosen(const std::string& text) {
  size_t begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end == std::string::npos
             ? ""
             : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

Machine ThisMachine() {
  std::string cpuinfo = Slurp("/proc/cpuinfo"), meminfo = Slurp("/proc/meminfo");
  Machine machine{.system = SystemText(),
                  .processor = ValueOf(cpuinfo, "model name"),
                  .extensions = Extensions(cpuinfo),
                  .processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
                  .usable = UsableProcessors(),
                  .quota = ProcessorQuota(),
                  .memory = Kilobytes(ValueOf(meminfo, "MemTotal")),
                  .available = Kilobytes(ValueOf(meminfo, "MemAvailable"))};
  machine.memory_limit = MemoryLimit(machine.memory);
  machine.huge_pages = Chosen(Slurp("/sys/kernel/mm/transparent_hugepage/enabled"));
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) {
    machine.shared_memory = shm.f_blocks * shm.f_frsize;
    machine.shared_memory_free = shm.f_bavail * shm.f_frsize;
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) machine.open_files = files.rlim_cur;
  return machine;
}

}  // namespace headrace::tool
