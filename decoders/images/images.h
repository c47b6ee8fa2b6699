// JPEG and PNG, by libjpeg-turbo and libpng.
#pragma once

#include "headrace/plugin.h"

namespace hr::images {

hr_status* ImagesPluginEntry(const hr_plugin_host* host, hr_plugin* out);

}  // namespace hr::images
