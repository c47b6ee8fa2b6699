// A data set whose fields go by other names, so that they meet the inputs of a model.
#pragma once

#include <memory>

#include "runtime/train/dataset.h"

namespace hr::train {

// `field` of `dataset` is called `name` from here on; all else stays. NOT_FOUND if there is no
// such field, ALREADY_EXISTS if another one has the name.
Result<std::shared_ptr<Dataset>> RenameField(std::shared_ptr<Dataset> dataset,
                                             std::string_view field, std::string_view name);

}  // namespace hr::train
