#include "backends/cpu/ops/window_shape.h"

#include "runtime/ops/window.h"

namespace hr::cpu {
namespace {

Status SetWindow(const graph::Node& node, std::span<const int64_t> kernel, const Dims& x,
                 WindowShape* shape) {
  if (x.size() < 3 || x.size() > 5) {
    return Unimplemented("the CPU has windows of one to three spatial axes, got an image of shape ",
                         ShapeText(x));
  }
  HR_ASSIGN_OR_RETURN(auto axes, ops::ResolveWindow(node, kernel, std::span(x).subspan(2)));
  const ops::WindowAxis& column = axes.back();
  shape->iw = x.back();
  shape->ow = column.output;
  shape->kw = column.kernel;
  shape->sw = column.stride;
  shape->dw = column.dilation;
  shape->pad_left = column.pad_begin;
  shape->pad_right = column.pad_end;
  if (axes.size() == 1) return {};
  const ops::WindowAxis& row = axes[axes.size() - 2];
  shape->ih = x[x.size() - 2];
  shape->oh = row.output;
  shape->kh = row.kernel;
  shape->sh = row.stride;
  shape->dh = row.dilation;
  shape->pad_top = row.pad_begin;
  shape->pad_bottom = row.pad_end;
  if (axes.size() == 2) return {};
  const ops::WindowAxis& depth = axes[0];
  shape->id = x[2];
  shape->od = depth.output;
  shape->kd = depth.kernel;
  shape->sd = depth.stride;
  shape->dd = depth.dilation;
  shape->pad_front = depth.pad_begin;
  shape->pad_back = depth.pad_end;
  return {};
}

}  // namespace

Result<ConvShape> ConvShapeOf(const graph::Node& node, const Dims& x, const Dims& w) {
  ConvShape shape;
  HR_RETURN_IF_ERROR(SetWindow(node, std::span(w).subspan(2), x, &shape));
  shape.n = x[0];
  shape.ic = x[1];
  shape.oc = w[0];
  shape.groups = node.Int("group", 1);
  return shape;
}

Result<PoolShape> PoolShapeOf(const graph::Node& node, const Dims& x) {
  PoolShape shape;
  HR_RETURN_IF_ERROR(SetWindow(node, node.Ints("kernel_shape"), x, &shape));
  shape.n = x[0];
  shape.c = x[1];
  shape.count_include_pad = node.Int("count_include_pad", 0) != 0;
  return shape;
}

}  // namespace hr::cpu
