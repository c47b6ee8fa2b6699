#include "tools/headrace/session_flags.h"

namespace headrace::tool {

void SessionFlags::AddOptions(CLI::App* app) {
  AddText(app, "--memory-limit", memory_limit, "BYTES",
          "most working memory of a plan, such as 512M: it computes values again\n"
          "in place of keeping more (no limit)");
  AddText(app, "--pin", pin, "WORDS",
          "for developers: layouts and kernels of convolutions, e.g. \"layout=channels_last\"");
}

hr_session_options SessionFlags::Options(uint64_t seed) const {
  auto out = Sized<hr_session_options>();
  out.seed = seed;
  if (!memory_limit.empty()) out.memory_limit = ParseBytes(memory_limit, "--memory-limit");
  if (!pin.empty()) out.pin = pin.c_str();
  return out;
}

}  // namespace headrace::tool
