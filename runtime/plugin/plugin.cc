#include "runtime/plugin/plugin.h"

#include "runtime/base/file.h"
#include "runtime/base/library.h"
#include "runtime/plugin/status.h"

namespace hr::plugin {

Result<hr_plugin_entry_function> FindEntry(std::string_view name_or_path) {
  std::string path(name_or_path);
  if (path.find('/') == std::string::npos) {
    path = Cat("libheadrace_", name_or_path, ".so");
    if (std::string beside = OwnFolder() + path; FileExists(beside)) path = std::move(beside);
  }
  auto library = SharedLibrary::Open(path);
  if (!library.ok()) {
    return std::move(library).status().WithContext(Cat("plugin '", name_or_path, "'"));
  }
  void* entry = library->Find("hr_plugin_entry");
  if (entry == nullptr) {
    return InvalidArgument("plugin '", name_or_path, "': ", path,
                           " has no function hr_plugin_entry");
  }
  return reinterpret_cast<hr_plugin_entry_function>(entry);
}

namespace {

HostServices& ServicesOf(void* context) { return *static_cast<HostServices*>(context); }

const char* OrEmpty(const char* text) { return text == nullptr ? "" : text; }

hr_status* MakeStatus(hr_code code, const char* message, const char* node) {
  if (code == HR_OK) code = HR_UNKNOWN;
  Status status(static_cast<Code>(code), OrEmpty(message));
  return ToC(std::move(status).WithNode(OrEmpty(node)));
}

}  // namespace

Plugin::Plugin(const HostServices& services) : services_(services) {
  host_ = {
      .struct_size = sizeof host_,
      .version = HR_PLUGIN_VERSION,
      .context = &services_,
      .make_status = MakeStatus,
      .status_code = [](const hr_status* s) { return static_cast<hr_code>(s->rep.code()); },
      .status_message = [](const hr_status* s) { return s->rep.message().data(); },
      .status_node = [](const hr_status* s) { return s->rep.node().data(); },
      .release_status = [](hr_status* s) { delete s; },
      .allocate =
          [](void* context, size_t bytes, size_t alignment) {
            return ServicesOf(context).allocator->Allocate(bytes, alignment);
          },
      .deallocate =
          [](void* context, void* data, size_t bytes, size_t alignment) {
            ServicesOf(context).allocator->Deallocate(data, bytes, alignment);
          },
      .log =
          [](void* context, hr_log_level level, const char* message) {
            LogSink* log = ServicesOf(context).log;
            if (log != nullptr) log->Write(static_cast<LogLevel>(level), message);
          },
      .now_nanos = [](void* context) { return ServicesOf(context).clock->NowNanos(); },
  };
  services_.allocator->Retain();
}

Plugin::~Plugin() {
  if (opened_ && table_.release != nullptr) table_.release(table_.self);
  services_.allocator->Release();
}

Status Plugin::CheckVersion() const {
  if (table_.name == nullptr) return InvalidArgument("the plugin has no name");
  if (table_.version == HR_PLUGIN_VERSION) return {};
  bool newer = table_.version > HR_PLUGIN_VERSION;
  return FailedPrecondition("plugin '", table_.name, "' has plugin interface ", table_.version,
                            ", this library ", HR_PLUGIN_VERSION, "; ",
                            newer ? "use a newer library" : "build the plugin with newer headers");
}

Result<std::shared_ptr<Plugin>> Plugin::Open(hr_plugin_entry_function entry,
                                             const HostServices& services) {
  std::shared_ptr<Plugin> plugin(new Plugin(services));
  plugin->table_.struct_size = sizeof plugin->table_;
  HR_RETURN_IF_ERROR(FromC(entry(&plugin->host_, &plugin->table_)));
  HR_RETURN_IF_ERROR(plugin->CheckVersion());
  plugin->opened_ = true;
  return plugin;
}

}  // namespace hr::plugin
