#include "backends/cpu/onednn/convolution.h"

#include <algorithm>

#include "backends/cpu/onednn/tasks.h"

namespace hr::cpu::onednn {
namespace {

constexpr double kLeastWork = 1 << 19;  // operations that are worth another thread
// What oneDNN runs for inference sums all products of an element one after the other; what it runs
// for training sums 16 channels and adds such sums, whose rounding errors are smaller, as those of
// the kernels of sum_parts.h are. With few channels it is slower, as it pads them to 16.
constexpr int64_t kLongestChain = 192;

// Images of one column, such as those of one-dimensional networks that have been converted, as
// images of one row: the memory is the same, and oneDNN's kernels go along rows.
ConvShape AlongRows(ConvShape s) {
  if (s.iw != 1 || s.ow != 1 || s.kw != 1) return s;
  std::swap(s.ih, s.iw);
  std::swap(s.oh, s.ow);
  std::swap(s.kh, s.kw);
  std::swap(s.sh, s.sw);
  std::swap(s.dh, s.dw);
  std::swap(s.pad_top, s.pad_left);
  std::swap(s.pad_bottom, s.pad_right);

  return s;
}

}  // namespace

Result<std::shared_ptr<const Convolution>> Convolution::Create(const ConvShape& shape,
                                                               const ConvOptions& options) {
  std::shared_ptr<Convolution> out(new Convolution(AlongRows(shape), options));
  HR_ASSIGN_OR_RETURN(out->library_, Library::Open());
  SerialScope scope(*out->library_);
  HR_RETURN_IF_ERROR(out->AddParts());
  return std::shared_ptr<const Convolution>(std::move(out));
}

int64_t Convolution::Cuts() const {
  const double work =
      2.0 * static_cast<double>(s_.n * s_.oc * s_.OutputPlane()) * static_cast<double>(s_.Taps());
  return std::clamp<int64_t>(static_cast<int64_t>(std::min(work / kLeastWork, 1e6)), 1,
                             options_.slices);
}

// By images where that is even; else by groups, or by channels of the result. The gradient of the
// weights is a sum over images, and so never cut by them.
Status Convolution::AddParts() {
  const Range images{0, s_.n}, groups{0, s_.groups}, in{0, s_.GroupIn()}, out{0, s_.GroupOut()};
  const int64_t cuts = Cuts();
  const bool cut_in = options_.pass == ConvPass::kBackwardData;
  const int64_t channels = BlocksOf(cut_in ? in.end : out.end);
  const int64_t most = s_.groups > 1 ? s_.groups : channels;
  const bool even = s_.n % cuts == 0 || s_.n >= 4 * cuts || (most < cuts && most < s_.n);
  const bool by_images = options_.pass != ConvPass::kBackwardWeights && even;
  const int64_t parts = std::min(cuts, by_images ? s_.n : most);
  for (int64_t i = 0; i < parts; ++i) {
    if (by_images) {
      HR_RETURN_IF_ERROR(AddPart(PartOf(s_.n, parts, i), groups, in, out));
    } else if (s_.groups > 1) {
      HR_RETURN_IF_ERROR(AddPart(images, PartOf(s_.groups, parts, i), in, out));
    } else if (cut_in) {
      HR_RETURN_IF_ERROR(AddPart(images, groups, PartAtBlocks(in.end, parts, i), out));
    } else {
      HR_RETURN_IF_ERROR(AddPart(images, groups, in, PartAtBlocks(out.end, parts, i)));
    }
    // Parts with other images have the same weights.
    const size_t bytes = options_.packed_weights ? kinds_[parts_.back().kind].w.inner_bytes : 0;
    parts_.back().packed = by_images ? 0 : packed_bytes_;
    packed_bytes_ = by_images ? bytes : packed_bytes_ + bytes;
  }
  for (const Kind& kind : kinds_) scratch_bytes_ = std::max(scratch_bytes_, kind.scratch_bytes);
  return {};
}

Status Convolution::AddPart(Range images, Range groups, Range in, Range out) {
  HR_ASSIGN_OR_RETURN(size_t kind, KindOf({images.size(), groups.size(), in.size(), out.size()}));
  const int64_t from = groups.begin * s_.GroupIn() + in.begin;
  const int64_t to = groups.begin * s_.GroupOut() + out.begin;
  parts_.push_back({.kind = kind,
                    .x = (images.begin * s_.ic + from) * s_.InputPlane(),
                    .w = to * s_.Taps() + in.begin * s_.kh * s_.kw,
                    .y = (images.begin * s_.oc + to) * s_.OutputPlane(),
                    .bias = to});
  return {};
}

Result<size_t> Convolution::KindOf(const Size& size) {
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].size == size) return i;
  }
  Kind kind{.size = size};
  HR_RETURN_IF_ERROR(DescribeTensors(&kind));
  HR_RETURN_IF_ERROR(DescribePass(&kind));
  HR_RETURN_IF_ERROR(MakePrimitives(&kind));
  kinds_.push_back(std::move(kind));
  return kinds_.size() - 1;
}

Status Convolution::DescribeTensors(Kind* kind) const {
  const Size& size = kind->size;
  const auto describe = [](std::span<const int64_t> dims, std::span<const int64_t> strides,
                           Operand* operand) -> Status {
    HR_ASSIGN_OR_RETURN(operand->plain, Strided(dims, strides));
    HR_ASSIGN_OR_RETURN(operand->any, AnyLayout(dims));
    return {};
  };
  const int64_t x_dims[] = {size.images, size.groups * size.in, s_.ih, s_.iw};
  const int64_t x_strides[] = {s_.ic * s_.InputPlane(), s_.InputPlane(), s_.iw, 1};
  const int64_t y_dims[] = {size.images, size.groups * size.out, s_.oh, s_.ow};
  const int64_t y_strides[] = {s_.oc * s_.OutputPlane(), s_.OutputPlane(), s_.ow, 1};
  const int64_t w_dims[] = {size.groups, size.out, size.in, s_.kh, s_.kw};
  const int64_t w_strides[] = {s_.GroupOut() * s_.Taps(), s_.Taps(), s_.kh * s_.kw, s_.kw, 1};
  const size_t grouped = size.groups > 1 ? 0 : 1;  // one group is a tensor without that axis
  HR_RETURN_IF_ERROR(describe(x_dims, x_strides, &kind->x));
  HR_RETURN_IF_ERROR(describe(y_dims, y_strides, &kind->y));
  return describe(std::span(w_dims).subspan(grouped), std::span(w_strides).subspan(grouped),
                  &kind->w);
}

Status Convolution::DescribePass(Kind* kind) const {
  const int64_t strides[] = {s_.sh, s_.sw}, dilations[] = {s_.dh - 1, s_.dw - 1};
  const int64_t begin[] = {s_.pad_top, s_.pad_left}, end[] = {s_.pad_bottom, s_.pad_right};
  const int64_t bias_dims[] = {kind->size.groups * kind->size.out}, bias_strides[] = {1};
  HR_ASSIGN_OR_RETURN(MemoryDesc bias, Strided(bias_dims, bias_strides));
  HR_ASSIGN_OR_RETURN(Attributes attributes, MakeAttributes());
  const_dnnl_memory_desc_t x = kind->x.any.get(), w = kind->w.any.get(), y = kind->y.any.get();
  for (const Kind& other : kinds_) {  // what it packed must do for this one
    const bool same = other.size.groups == kind->size.groups && other.size.in == kind->size.in &&
                      other.size.out == kind->size.out;
    if (options_.packed_weights && same) w = other.w.inner;
  }
  const bool forward = options_.pass == ConvPass::kForward;
  const bool summed = s_.Taps() > kLongestChain;
  HR_RETURN_IF_ERROR(Check(Dnnl().convolution_forward_primitive_desc_create(
                               (forward ? kind->desc : kind->forward).out(), library_->engine(),
                               forward && !summed ? dnnl_forward_inference : dnnl_forward_training,
                               dnnl_convolution_direct, x, w, options_.bias ? bias.get() : nullptr,
                               y, strides, dilations, begin, end, attributes.get()),
                           "convolution"));
  if (options_.pass == ConvPass::kBackwardData) {
    return Check(Dnnl().convolution_backward_data_primitive_desc_create(
                     kind->desc.out(), library_->engine(), dnnl_convolution_direct, x, w, y,
                     strides, dilations, begin, end, kind->forward.get(), attributes.get()),
                 "convolution backward data");
  }
  if (options_.pass == ConvPass::kBackwardWeights) {
    return Check(Dnnl().convolution_backward_weights_primitive_desc_create(
                     kind->desc.out(), library_->engine(), dnnl_convolution_direct, x, w, nullptr,
                     y, strides, dilations, begin, end, kind->forward.get(), attributes.get()),
                 "convolution backward weights");
  }
  return {};
}

// What the primitive chose for a tensor, and the copy that this needs.
Status Convolution::Finish(Operand* operand, dnnl_query_t query, bool result,
                           const Kind& kind) const {
  operand->inner = Dnnl().primitive_desc_query_md(kind.desc.get(), query, 0);
  operand->copied = Dnnl().memory_desc_equal(operand->plain.get(), operand->inner) == 0;
  const bool packed = operand == &kind.w && options_.packed_weights;
  if (!operand->copied && !packed) return {};
  const_dnnl_memory_desc_t from = operand->plain.get(), to = operand->inner;
  if (result) std::swap(from, to);
  HR_ASSIGN_OR_RETURN(operand->copy, Primitive::Reorder(*library_, from, to, options_.slices));
  operand->inner_bytes = AlignedBytes(Dnnl().memory_desc_get_size(operand->inner));
  if (packed) operand->copied = false;  // Pack has done it
  return {};
}

Status Convolution::MakePrimitives(Kind* kind) const {
  const bool data = options_.pass == ConvPass::kBackwardData;
  const bool weights = options_.pass == ConvPass::kBackwardWeights;
  const bool forward = options_.pass == ConvPass::kForward;
  HR_RETURN_IF_ERROR(
      Finish(&kind->x, data ? dnnl_query_diff_src_md : dnnl_query_src_md, data, *kind));
  HR_RETURN_IF_ERROR(Finish(&kind->w, weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md,
                            weights, *kind));
  HR_RETURN_IF_ERROR(
      Finish(&kind->y, forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md, forward, *kind));
  std::vector<Primitive::Argument> arguments = {
      {data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, kind->x.inner},
      {weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, kind->w.inner},
      {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, kind->y.inner}};
  if (options_.bias) {
    arguments.push_back({DNNL_ARG_BIAS, Dnnl().primitive_desc_query_md(kind->desc.get(),
                                                                       dnnl_query_weights_md, 1)});
  }
  HR_ASSIGN_OR_RETURN(kind->convolve,
                      Primitive::Create(*library_, kind->desc.get(), arguments, options_.slices));
  size_t scratch = kind->convolve.scratch_bytes();
  for (const Operand* operand : {&kind->x, &kind->w, &kind->y}) {
    if (operand->copied) kind->scratch_bytes += operand->inner_bytes;
    scratch = std::max(scratch, operand->copy.scratch_bytes());
  }
  kind->scratch_bytes += AlignedBytes(scratch);
  return {};
}

Status Convolution::RunPart(const Part& part, const ConvMemory& memory, char* scratch) const {
  const Kind& kind = kinds_[part.kind];
  float* const weights =
      options_.packed_weights ? memory.w + part.packed / sizeof(float) : memory.w + part.w;
  void* const plain[] = {memory.x + part.x, weights, memory.y + part.y};
  const Operand* const operands[] = {&kind.x, &kind.w, &kind.y};
  void* inner[] = {plain[0], plain[1], plain[2],
                   options_.bias ? const_cast<float*>(memory.bias + part.bias) : nullptr};
  for (size_t i = 0; i < 3; ++i) {
    if (!operands[i]->copied) continue;
    inner[i] = scratch;
    scratch += operands[i]->inner_bytes;
  }
  constexpr size_t kResult[] = {2, 0, 1};  // of each pass
  const size_t result = kResult[static_cast<size_t>(options_.pass)];
  for (size_t i = 0; i < 3; ++i) {
    if (i == result || !operands[i]->copied) continue;
    void* const ends[] = {plain[i], inner[i]};
    HR_RETURN_IF_ERROR(operands[i]->copy.Execute(ends, scratch));
  }
  HR_RETURN_IF_ERROR(kind.convolve.Execute(std::span(inner, options_.bias ? 4 : 3), scratch));
  if (operands[result]->copied) {
    void* const ends[] = {inner[result], plain[result]};
    HR_RETURN_IF_ERROR(operands[result]->copy.Execute(ends, scratch));
  }
  Activate(options_.activation, kind.size.images,
           kind.size.groups * kind.size.out * s_.OutputPlane(), s_.oc * s_.OutputPlane(),
           memory.y + part.y);
  return {};
}

Status Convolution::Run(const Lease& threads, const ConvMemory& memory, void* scratch) const {
  return ForTasks(*library_, threads, static_cast<int>(parts_.size()), [&](int task) {
    return RunPart(parts_[static_cast<size_t>(task)], memory,
                   ScratchOf(scratch, scratch_bytes_, task));
  });
}

std::string Convolution::packed_format() const {
  std::string out;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (i > 0 && parts_[i].packed == 0) continue;  // all parts have the same weights
    out += Cat("at ", parts_[i].w, ": ", LayoutText(kinds_[parts_[i].kind].w.inner));
  }
  return out;
}

Status Convolution::Pack(const Lease& threads, const float* w, float* packed, void* scratch) const {
  return ForTasks(*library_, threads, static_cast<int>(parts_.size()), [&](int task) -> Status {
    const Part& part = parts_[static_cast<size_t>(task)];
    if (task > 0 && part.packed == 0) return {};  // all parts have the same weights
    void* const ends[] = {const_cast<float*>(w + part.w), packed + part.packed / sizeof(float)};
    return kinds_[part.kind].w.copy.Execute(ends, ScratchOf(scratch, scratch_bytes_, task));
  });
}

}  // namespace hr::cpu::onednn
