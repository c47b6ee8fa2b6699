// The plugin "onnx": models of ONNX, and what reading them needs of others, protozero.
#pragma once

#include "headrace/plugin.h"

namespace hr::onnx {

hr_status* OnnxPluginEntry(const hr_plugin_host* host, hr_plugin* out);

}  // namespace hr::onnx
