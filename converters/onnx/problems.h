// What stands in the way of a conversion, all of which is told at once.
#pragma once

#include <map>
#include <string>

#include "runtime/base/status.h"

namespace hr::onnx {

// Sentences, each with the number of nodes that it is about.
class Problems {
 public:
  // `headline`: what the sentences explain.
  explicit Problems(std::string headline) : headline_(std::move(headline)) {}

  void Add(std::string sentence, std::string_view node = {});
  bool empty() const { return found_.empty(); }
  size_t size() const { return found_.size(); }
  // UNIMPLEMENTED, with one line for each sentence, if there is any.
  Status ToStatus() const;

 private:
  struct Found {
    size_t times = 0;
    std::string first;  // node
  };
  std::string headline_;
  std::map<std::string, Found> found_;
};

}  // namespace hr::onnx
