#include "runtime/plugin/guest.h"

namespace hr::plugin {

hr_status* Guest::Pass(Status status) const {
  if (status.ok()) return nullptr;
  return host_.make_status(static_cast<hr_code>(status.code()), status.message().data(),
                           status.node().data());
}

Status Guest::Receive(hr_status* status) const {
  if (status == nullptr) return {};
  Status out(static_cast<Code>(host_.status_code(status)), host_.status_message(status));
  out = std::move(out).WithNode(host_.status_node(status));
  host_.release_status(status);
  return out;
}

void Guest::Write(LogLevel level, std::string_view message) {
  host_.log(host_.context, static_cast<hr_log_level>(level), std::string(message).c_str());
}

}  // namespace hr::plugin
