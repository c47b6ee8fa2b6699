// Images and the columns of their windows.
#include <numeric>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// An index of a tensor of these sizes from its place in row-major order.
Dims IndexOf(int64_t place, const Dims& dims) {
  Dims index(dims.size());
  for (size_t i = dims.size(); i-- > 0; place /= dims[i]) index[i] = place % dims[i];
  return index;
}

// Calls visit(in the columns, in the image) for all elements that are not in the padding.
void ForEachColumn(const Call& call, const Dims& columns, const Dims& image, const Dims& block,
                   const std::function<void(const Dims&, const Dims&)>& visit) {
  const std::vector<Axis> axes = Windows(call, block, Dims(image.begin() + 2, image.end()));
  Dims positions;
  for (const Axis& axis : axes) positions.push_back(axis.output);
  const int64_t size = ElementCount(block);
  ForEach(columns, [&](const Dims& i) {
    const Dims element = IndexOf(i[1] % size, block), position = IndexOf(i[2], positions);
    Dims at = {i[0], i[1] / size};
    for (size_t d = 0; d < axes.size(); ++d) {
      at.push_back(axes[d].Position(position[d], element[d]));
      if (at.back() < 0) return;
    }
    visit(i, at);
  });
}

void Col2Im(Call& call) {
  const Array& columns = call.In(0);
  const Dims block = call.In(2).Ints();
  Dims dims = {columns.dims[0], columns.dims[1] / ElementCount(block)};
  for (int64_t size : call.In(1).Ints()) dims.push_back(size);
  Array image(columns.dtype, dims);
  ForEachColumn(call, columns.dims, dims, block, [&](const Dims& column, const Dims& at) {
    image[at] = Fit(image.dtype, image[at] + columns[column]);
  });
  call.Out(0, std::move(image));
}

void Im2Col(Call& call) {
  const Array& image = call.In(0);
  Array columns(image.dtype, call.In(1).dims);
  ForEachColumn(call, columns.dims, image.dims, call.In(2).Ints(),
                [&](const Dims& column, const Dims& at) { columns[column] = image[at]; });
  call.Out(0, std::move(columns));
}

const Entry kUnfoldEntries[] = {{"", "Col2Im", Col2Im}, {"headrace.grad", "Im2Col", Im2Col}};

}  // namespace

std::span<const Entry> UnfoldFunctions() { return kUnfoldEntries; }

}  // namespace hr::reference
