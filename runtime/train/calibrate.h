// What range values have over a data set.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "runtime/data/dataset.h"
#include "runtime/session/env.h"
#include "runtime/transform/quantize.h"

namespace hr::train {

// Runs what the signature of the module needs for `values` (float32) on batches that are drawn from
// `data`, from its position on. Fields have the names of the signature's inputs.
// FAILED_PRECONDITION if there is no batch; INVALID_ARGUMENT if a value is not finite, or if a
// batch does not fit the inputs.
Result<std::map<graph::ValueId, transform::ValueRange>> Calibrate(
    const std::shared_ptr<session::Env>& env, const graph::Module& module,
    std::string_view signature, std::span<const graph::ValueId> values,
    const transform::QuantizeOptions& options, const std::shared_ptr<data::Dataset>& data,
    const CallLimits& limits);

}  // namespace hr::train
