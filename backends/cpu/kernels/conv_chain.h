// Convolutions that follow each other, in one pass over bands of rows: what one hands to the next
// stays in the second-level cache ("fused-layer" execution: Alwani et al., "Fused-Layer CNN
// Accelerators", 2016). Channels-last images of float32: one depthwise convolution with a window,
// and any number of pointwise ones (1 x 1, stride 1) before and behind it.
//
// A band has some rows of one image, or some whole images. A thread goes through neighbouring ones
// and keeps the rows that the next window reads again. Each convolution of a band is an ordinary
// one, of a smaller image and for one thread.
//
// Results depend on the shapes and on `slices`, never on how many threads the lease has. Nothing is
// allocated by a run. Memory is aligned to 64 bytes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// A forward pass over images of one size, on the calling thread.
class BandConv {
 public:
  virtual ~BandConv() = default;
  virtual size_t scratch_bytes() const = 0;
  virtual void Run(const ConvImageMemory<float>& memory, void* scratch) const = 0;
};

// What a kernel does: void Run(threads, memory, scratch).
template <typename Conv>
class BandConvOf final : public BandConv {
 public:
  explicit BandConvOf(std::shared_ptr<const Conv> conv) : conv_(std::move(conv)) {}
  size_t scratch_bytes() const override { return conv_->scratch_bytes(); }
  void Run(const ConvImageMemory<float>& memory, void* scratch) const override {
    conv_->Run(Lease(), memory, scratch);
  }

 private:
  const std::shared_ptr<const Conv> conv_;
};

// Of what is handed on: it stays in the second-level cache.
inline constexpr int64_t kBandBytes = 512 << 10;

// How convolutions are cut into bands.
class ChainBands {
 public:
  // Rows that are there; the rows of a window that reaches beyond them are padding.
  struct Kind {
    int64_t images = 0;
    int64_t kept = 0, fresh = 0;  // rows that the window reads: left from the band before, and new
    int64_t rows = 0;             // of the result
    int64_t top = 0, bottom = 0;  // padding

    int64_t read() const { return kept + fresh; }
    bool operator==(const Kind&) const = default;
  };
  struct Band {
    int64_t image = 0, row = 0;  // of the result: the first ones
    int64_t source = 0;          // the first row that the window reads
    int64_t overlap = 0;         // rows from what the band before has read first to `source`
    size_t kind = 0;
  };

  // `window`: the one that has taps; the others have its image or its result. `bytes`: of a band,
  // unless a row has more.
  ChainBands(std::span<const ConvShape> convs, size_t window, int slices,
             int64_t bytes = kBandBytes);

  const std::vector<Kind>& kinds() const { return kinds_; }
  // Those of each thread.
  const std::vector<std::vector<Band>>& tasks() const { return tasks_; }
  int64_t count() const;
  // Rows of the window's image that are computed, of all images together.
  int64_t fresh_rows() const;
  int64_t kept_rows() const;

 private:
  void CutImages(const ConvShape& s, int64_t at_once, int slices);
  void CutRows(const ConvShape& s, int64_t bands, int slices);
  void Add(const Band& band, const Kind& kind, std::vector<Band>* to);

  std::vector<Kind> kinds_;
  std::vector<std::vector<Band>> tasks_;
};

// Whether convolutions may be a chain: their images fit together, and exactly one, the depthwise
// one, has a window, of which each reads some row of the image. Returns its place; -1 if not.
int ChainWindow(std::span<const ConvShape> convs);

// The shape of a member in a band.
ConvShape BandShape(std::span<const ConvShape> convs, size_t window, size_t member,
                    const ChainBands::Kind& kind);

// Immutable.
class ConvChain {
 public:
  // Makes convolution `member` of the chain for images of another size.
  using Maker = std::function<std::unique_ptr<BandConv>(size_t member, const ConvShape& shape)>;

  // ChainWindow is not -1.
  ConvChain(std::vector<ConvShape> convs, const Maker& make, int slices,
            int64_t bytes = kBandBytes);

  size_t scratch_bytes() const { return bands_.tasks().size() * TaskBytes(); }
  // `members`: weights and epilogue of each; the first one's image, and the last one's result.
  void Run(const Lease& threads, std::span<const ConvImageMemory<float>> members,
           void* scratch) const;

 private:
  size_t TaskBytes() const { return (buffers_elements_ * sizeof(float)) + conv_scratch_; }
  void RunBand(const ChainBands::Band& band, std::span<const ConvImageMemory<float>> members,
               float* buffers, void* scratch) const;

  const std::vector<ConvShape> convs_;
  const size_t window_;
  const ChainBands bands_;
  std::vector<std::vector<std::unique_ptr<BandConv>>> kinds_;  // [kind][member]
  std::vector<size_t> buffers_;  // where what each member but the last makes begins, in elements
  size_t buffers_elements_ = 0, conv_scratch_ = 0;
};

}  // namespace hr::cpu
