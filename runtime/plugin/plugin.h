// Plugins as an env has them: found, opened, matched by version. docs/plugins.md is the story for
// those who write one.
#pragma once

#include <memory>
#include <string>

#include "headrace/plugin.h"
#include "runtime/base/allocator.h"
#include "runtime/base/cancel.h"
#include "runtime/base/log.h"

namespace hr::plugin {

// What a plugin may use of its env; must outlive it.
struct HostServices {
  Allocator* allocator = nullptr;
  const Clock* clock = nullptr;
  LogSink* log = nullptr;  // or null
};

// The entry of the plugin with this name ("net": libheadrace_net.so, beside libheadrace or where
// the system's loader looks), or in the file at this path (anything with a slash).
Result<hr_plugin_entry_function> FindEntry(std::string_view name_or_path);

// An instance of a plugin. Everything made from its tables holds it.
class Plugin {
 public:
  static Result<std::shared_ptr<Plugin>> Open(hr_plugin_entry_function entry,
                                              const HostServices& services);
  ~Plugin();
  Plugin(const Plugin&) = delete;

  std::string_view name() const { return table_.name; }
  void* self() const { return table_.self; }
  // Null if it has none.
  const hr_plugin_backend_table* backend() const { return table_.backend; }
  const hr_plugin_transport_table* transport() const { return table_.transport; }
  const hr_plugin_converter_table* converter() const { return table_.converter; }
  const hr_plugin_decoder_table* decoder() const { return table_.decoder; }
  const hr_plugin_group_table* group() const { return table_.group; }

 private:
  explicit Plugin(const HostServices& services);
  Status CheckVersion() const;

  HostServices services_;
  hr_plugin_host host_{};
  hr_plugin table_{};
  bool opened_ = false;
};

}  // namespace hr::plugin
