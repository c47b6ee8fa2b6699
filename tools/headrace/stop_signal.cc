#include "tools/headrace/stop_signal.h"

#include <csignal>

namespace headrace::tool {
namespace {

volatile std::sig_atomic_t stop_signal = 0;  // nothing else can be reached from a handler

void Remember(int signal) { stop_signal = signal; }

}  // namespace

void WatchForStop() {
  struct sigaction action {};
  action.sa_handler = Remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int StopSignal() { return stop_signal; }

}  // namespace headrace::tool
