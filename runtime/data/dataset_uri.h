// Opens a data set by its address:
//
//   SCHEME:PATH?batch=64&shuffle=1&seed=7&repeat=6&prefetch=2&KEY=VALUE…
//
// docs/data.md has all formats (formats.h), their keys, and the keys that every format has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/data/dataset.h"
#include "runtime/data/image_decoder.h"
#include "runtime/session/env.h"

namespace hr::data {

struct DatasetOptions {
  // Must outlive the data set and its tensors. Null: SystemAllocator().
  Allocator* allocator = nullptr;
  // Whose threads read examples in parallel, and in which graphs run; must outlive the data set.
  // Null: one thread reads, and there are no graphs.
  std::shared_ptr<session::Env> env;
  // Where names are looked up first. Empty: the environment's HEADRACE_DATA, if that is set.
  std::string data_root;
  // Gets what decodes images; null: nothing does.
  std::function<Result<std::shared_ptr<const ImageDecoder>>()> image_decoder;

  ThreadBudget* threads() const { return env == nullptr ? nullptr : &env->threads(); }
};

// INVALID_ARGUMENT for an address that makes no sense (unknown keys are listed with the valid
// ones), NOT_FOUND with all places looked at, DATA_LOSS for damaged files.
Result<std::unique_ptr<Dataset>> OpenDataset(std::string_view uri, const DatasetOptions& options);

}  // namespace hr::data
