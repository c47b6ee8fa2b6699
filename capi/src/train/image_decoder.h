// Decoders of images, which a plugin has.
#pragma once

#include <functional>
#include <memory>

#include "runtime/data/image_decoder.h"
#include "runtime/session/env.h"

namespace hr::capi {

// What opens the plugin `images` when it is called. UNAVAILABLE, with what is missing, if it is not
// there.
std::function<Result<std::shared_ptr<const data::ImageDecoder>>()> ImageDecoderOf(
    std::shared_ptr<session::Env> env);

}  // namespace hr::capi
