#include "runtime/data/pixels.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"

namespace hr::data {

Result<PixelOptions> ReadPixelOptions(Query& query) {
  PixelOptions options;
  std::vector<std::string> texts;
  HR_RETURN_IF_ERROR(query.List("normalize", &texts));
  HR_RETURN_IF_ERROR(query.Bool("raw", &options.raw));
  if (texts.size() % 2 != 0) {
    return InvalidArgument(
        "expected MEAN,STD as 'normalize', or the means of all channels and then ",
        "their deviations, got '", Join(texts, ","), "'");
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool mean = i < texts.size() / 2;
    HR_ASSIGN_OR_RETURN(const float value, ParseFloatOption("normalize", texts[i]));
    if (!std::isfinite(value) || (!mean && value <= 0)) {
      return InvalidArgument("expected a finite MEAN and a STD above 0 as 'normalize', got '",
                             Join(texts, ","), "'");
    }
    (mean ? options.mean : options.deviation).push_back(value);
  }
  if (options.raw && !texts.empty()) {
    return InvalidArgument("'raw' gives bytes, which 'normalize' cannot change; use one of them");
  }
  return options;
}

Result<std::vector<float>> PixelOptions::Map(int64_t channels) const {
  if (raw) return std::vector<float>();
  const size_t count = std::max<size_t>(mean.size(), 1);
  if (count != 1 && count != static_cast<size_t>(channels)) {
    return InvalidArgument("'normalize' has means of ", count, " channels, the images have ",
                           channels);
  }
  std::vector<float> map;
  for (size_t c = 0; c < count; ++c) {
    const float subtract = mean.empty() ? 0.0f : mean[c];
    const float divide = mean.empty() ? 1.0f : deviation[c];
    for (int v = 0; v < 256; ++v)
      map.push_back((static_cast<float>(v) / 255.0f - subtract) / divide);
  }
  return map;
}

}  // namespace hr::data
