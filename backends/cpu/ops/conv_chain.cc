// lowered.ConvChain: convolutions that run one after the other on bands of images
// (lowering/chain_convs.h).
#include <array>

#include "backends/cpu/kernels/conv_chain.h"

#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "backends/cpu/kernels/split_conv.h"
#include "backends/cpu/lowering/chain_convs.h"
#include "backends/cpu/ops/conv_cost.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/image_end.h"
#include "backends/cpu/ops/useful_slices.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

// One convolution of the chain, as if it were a node.
struct Member {
  Member(const KernelRequest& chain, size_t index)
      : node(ChainMemberNode(chain.node, index)),
        request{.module = chain.module,
                .op = op,
                .node = node,
                .threads = 1,
                .exact_sums = chain.exact_sums} {
    request.inputs.push_back(chain.input(0));
    for (size_t i = 1; i <= kConvOperands; ++i) {
      request.inputs.push_back(chain.input(index * kConvOperands + i));
    }
  }
  Member(const Member&) = delete;

  bool packed() const { return request.input(1).steady; }

  const graph::Operator op{.domain = std::string(lowering::kLowered), .name = "ChannelsLastConv"};
  const graph::Node node;
  KernelRequest request;
};

class ChainBuilder {
 public:
  explicit ChainBuilder(const KernelRequest& request) : request_(request) {}

  Result<LoweredKernel> Make() {
    HR_RETURN_IF_ERROR(AddMembers());
    const auto window = static_cast<size_t>(ChainWindow(shapes_));
    const int slices = ChainSlices(shapes_, request_.threads);
    // Bands that follow each other find weights in the cache, as the pixels of one image do.
    for (size_t i = 0; i < shapes_.size(); ++i) {
      on_unit_.push_back(i != window &&
                         RunsOnMatrixUnit(shapes_[i], onednn::ConvPass::kForward,
                                          members_[i]->packed(), request_.exact_sums));
    }
    auto chain = std::make_shared<const ConvChain>(
        shapes_, [&](size_t i, const ConvShape& shape) { return MakeBand(i, shape); }, slices);
    LoweredKernel out;
    for (Preparation& preparation : preparations_) {
      if (preparation.kernel != nullptr) out.preparations.push_back(std::move(preparation));
    }
    Finish(std::move(chain), &out);
    return out;
  }

 private:
  Status AddMembers() {
    Dims image = request_.input(0).dims;
    for (size_t i = 0; 1 + i * kConvOperands < request_.inputs.size(); ++i) {
      members_.push_back(std::make_unique<const Member>(request_, i));
      const Member& member = *members_.back();
      HR_ASSIGN_OR_RETURN(ConvShape shape,
                          ConvShapeOf(member.node, image, member.request.input(1).dims));
      image = ImageOf(shape, image.size());
      shapes_.push_back(shape);
    }
    preparations_.resize(members_.size());
    return {};
  }

  static Dims ImageOf(const ConvShape& s, size_t rank) {
    return rank == 3 ? Dims{s.n, s.oc, s.ow} : Dims{s.n, s.oc, s.oh, s.ow};
  }

  std::unique_ptr<BandConv> MakeBand(size_t i, const ConvShape& shape) {
    const bool packed = members_[i]->packed();
    if (IsDepthwise(shape)) {
      return Add(i, std::make_shared<const DepthwiseChannelsLast<float>>(shape, ImagePass::kForward,
                                                                         packed, 1));
    }
    if (on_unit_[i]) {
      return Add(i, std::make_shared<const SplitConv>(*SplitKernelsInUse(), shape,
                                                      ImagePass::kForward, packed, 1));
    }
    return Add(
        i, std::make_shared<const ConvChannelsLast<float>>(shape, ImagePass::kForward, packed, 1));
  }

  // The weights of a member have one order, whatever the size of its images.
  template <typename Conv>
  std::unique_ptr<BandConv> Add(size_t i, std::shared_ptr<const Conv> conv) {
    if (members_[i]->packed()) {
      preparations_[i] = PackImageWeights<float>(1 + i * kConvOperands, conv);
    }
    return std::make_unique<BandConvOf<Conv>>(std::move(conv));
  }

  void Finish(std::shared_ptr<const ConvChain> chain, LoweredKernel* out) const {
    std::vector<ImageEnd<float>> ends;
    std::vector<size_t> norms;  // where a member's factors begin, in bytes
    size_t bytes = RoundUp(chain->scratch_bytes(), 64);
    std::string name = "conv_chain_channels_last";
    for (size_t i = 0; i < members_.size(); ++i) {
      ends.emplace_back(members_[i]->request, shapes_[i].oc);
      norms.push_back(bytes);
      bytes += RoundUp(2 * static_cast<size_t>(shapes_[i].oc) * sizeof(float), 64);
      name += Cat(i == 0 ? ": " : ", ",
                  IsDepthwise(shapes_[i]) ? "depthwise"
                  : on_unit_[i]           ? "matrix_unit"
                                          : "pointwise",
                  ends[i].name());
    }
    out->scratch_bytes = bytes;
    out->kernel = MakeKernel(
        std::move(name),
        [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
          std::array<ConvImageMemory<float>, kMostChainMembers> memory;
          for (size_t i = 0; i < ends.size(); ++i) {
            auto* const norm = reinterpret_cast<float*>(p.scratch<std::byte>() + norms[i]);
            memory[i] = {p.input<float>(0), p.input<float>(1 + i * kConvOperands),
                         p.output<float>(0), ends[i].Of(p, i * kConvOperands, norm)};
          }
          chain->Run(context.threads, std::span(memory).first(ends.size()), p.scratch());
          return {};
        });
  }

  const KernelRequest& request_;
  std::vector<std::unique_ptr<const Member>> members_;
  std::vector<ConvShape> shapes_;
  std::vector<bool> on_unit_;
  std::vector<Preparation> preparations_;  // of each member
};

Result<LoweredKernel> MakeConvChain(const KernelRequest& request) {
  return ChainBuilder(request).Make();
}

constexpr KernelEntry kChainKernels[] = {
    {.domain = lowering::kLowered, .name = "ConvChain", .make = MakeConvChain, .made_from = "Conv"},
};

}  // namespace

KernelPart ConvChainFamily() { return ChosenKernels<kChainKernels>(); }

}  // namespace hr::cpu
