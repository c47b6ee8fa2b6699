#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/host.h"

namespace hr {

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text = name;
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

bool IsTerminal(std::FILE* file) { return isatty(fileno(file)) == 1; }

int TerminalWidth(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace hr
