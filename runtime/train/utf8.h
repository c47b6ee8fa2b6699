// UTF-8, which JSON and protobuf require of every string.
#pragma once

#include <string_view>

namespace hr::train {

// Whether `text` is well-formed (The Unicode Standard, table 3-7).
bool IsUtf8(std::string_view text);

}  // namespace hr::train
