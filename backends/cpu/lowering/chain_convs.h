// Joins channels-last convolutions that run one after the other on bands of images
// (kernels/conv_chain.h), where the model of costs says that it pays:
//
//   lowered.ConvChain(x, then for each convolution: w, bias?, scale?, bias?, mean?, variance?,
//                     residual?) → y
//
// with the attributes of each convolution (Conv or lowered.ChannelsLastConv) behind its number and
// a dot.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

inline constexpr size_t kMostChainMembers = 3;

void ChainConvolutions(lowering::Region& region, const ops::OpRegistry& operators, int threads);

// Convolution `index` of a chain, as a node of its own with the attributes alone.
graph::Node ChainMemberNode(const graph::Node& chain, size_t index);

}  // namespace hr::cpu
