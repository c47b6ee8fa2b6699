#include "capi/src/train/image_decoder.h"

#include "runtime/base/errors.h"
#ifdef HEADRACE_PLUGINS
#include "capi/src/plugin.h"
#include "headrace/plugin_decoder.h"
#include "runtime/plugin/status.h"
#endif

namespace hr::capi {

#ifdef HEADRACE_PLUGINS
namespace {

class PluginDecoder final : public data::ImageDecoder {
 public:
  explicit PluginDecoder(std::shared_ptr<plugin::Plugin> plugin) : plugin_(std::move(plugin)) {}

  Result<data::ImageSize> Measure(Bytes file) const override {
    data::ImageSize size;
    HR_RETURN_IF_ERROR(plugin::FromC(plugin_->decoder()->measure(
        plugin_->self(), file.data(), file.size(), &size.width, &size.height)));
    return size;
  }
  Status Decode(Bytes file, data::ImageSize size, int channels, uint8_t* out) const override {
    return plugin::FromC(plugin_->decoder()->decode(plugin_->self(), file.data(), file.size(),
                                                    size.width, size.height, channels, out));
  }

 private:
  const std::shared_ptr<plugin::Plugin> plugin_;
};

Result<std::shared_ptr<const data::ImageDecoder>> OpenDecoder(session::Env& env) {
  std::shared_ptr<plugin::Plugin> plugin;
  for (const auto& loaded : env.plugins()) {
    if (loaded->decoder() != nullptr) plugin = loaded;
  }
  if (plugin == nullptr) {
    auto opened = OpenPlugin(env, "images");
    if (!opened.ok()) {
      return Unavailable("images cannot be read: ", opened.status().message(),
                         "; they need libheadrace_images.so, which is built if libjpeg-turbo and ",
                         "libpng are there (Debian: libjpeg62-turbo-dev, libpng-dev)");
    }
    plugin = *std::move(opened);
  }
  if (plugin->decoder() == nullptr)
    return FailedPrecondition("the plugin '", plugin->name(), "' decodes no images");
  return std::shared_ptr<const data::ImageDecoder>(
      std::make_shared<PluginDecoder>(std::move(plugin)));
}

}  // namespace

std::function<Result<std::shared_ptr<const data::ImageDecoder>>()> ImageDecoderOf(
    std::shared_ptr<session::Env> env) {
  return [env = std::move(env)] { return OpenDecoder(*env); };
}
#else
std::function<Result<std::shared_ptr<const data::ImageDecoder>>()> ImageDecoderOf(
    std::shared_ptr<session::Env>) {
  return []() -> Result<std::shared_ptr<const data::ImageDecoder>> {
    return Unavailable("images are decoded by a plugin, and this library was built without them");
  };
}
#endif

}  // namespace hr::capi
