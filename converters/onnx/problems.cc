#include "converters/onnx/problems.h"

#include "runtime/base/errors.h"

namespace hr::onnx {

void Problems::Add(std::string sentence, std::string_view node) {
  Found& found = found_[std::move(sentence)];
  if (found.times++ == 0) found.first = node;
}

Status Problems::ToStatus() const {
  if (found_.empty()) return {};
  std::string text = Cat(headline_, ":");
  for (const auto& [sentence, found] : found_) {
    text += Cat("\n- ", sentence);
    if (!found.first.empty()) text += Cat(" (node ", found.first);
    if (!found.first.empty() && found.times > 1) text += Cat(" and ", found.times - 1, " more");
    if (!found.first.empty()) text += ")";
  }
  return Unimplemented(text);
}

}  // namespace hr::onnx
