// What the tests of file formats share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/dataset_uri.h"
#include "tests/unit/data/test_support.h"

namespace hr::data {

class FormatTest : public DataTest {
 protected:
  Result<std::unique_ptr<Dataset>> Open(std::string_view uri) {
    return OpenDataset(uri, {.allocator = &allocator_, .data_root = folder_.path()});
  }
  // The failure of opening, or else of reading all batches.
  Status Failure(std::string_view uri) {
    HR_ASSIGN_OR_RETURN(const auto data, Open(uri));
    std::vector<Tensor> out(data->field_count());
    while (true) {
      HR_ASSIGN_OR_RETURN(const bool more, data->Next(out, {}));
      if (!more) return {};
    }
  }
  // The next batch.
  std::vector<Tensor> Batch(Dataset& data) {
    std::vector<Tensor> out(data.field_count());
    Result<bool> more = data.Next(out, {});
    EXPECT_TRUE(more.ok() && *more) << StatusText(more);
    return out;
  }
  void Write(std::string_view name, std::string_view contents) {
    WriteText(folder_.Path(name), contents);
  }
};

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DTypeOf<T>::value) << tensor.TypeText();
  if (tensor.dtype() != DTypeOf<T>::value) return {};
  const std::span<T> values = tensor.span<T>();
  return {values.begin(), values.end()};
}

}  // namespace hr::data
