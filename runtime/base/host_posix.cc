#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/host.h"

namespace hr {

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text = name;
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

Result<std::string> BootId() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  if (!FileExists(path)) return std::string();
  HR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return text.substr(0, 36);
}

uint64_t UniqueBits() {
  uint64_t bits = 0;
  if (getentropy(&bits, sizeof bits) == 0) return bits;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<uint64_t>(now) ^ static_cast<uint64_t>(getpid()) << 40;
}

ProcessorSet AvailableProcessorSet() {
  ProcessorSet out{};
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE && i < 1024; ++i) {
      if (CPU_ISSET(i, &set)) out[i / 64] |= uint64_t{1} << i % 64;
    }
    return out;
  }
#endif
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1u, 1024u);
  for (unsigned i = 0; i < count; ++i) out[i / 64] |= uint64_t{1} << i % 64;
  return out;
}

int CountProcessors(const ProcessorSet& set) {
  int count = 0;
  for (uint64_t word : set) count += std::popcount(word);
  return std::max(1, count);
}

bool IsTerminal(std::FILE* file) { return isatty(fileno(file)) == 1; }

int TerminalWidth(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace hr
