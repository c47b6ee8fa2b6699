#include "runtime/lowering/communication.h"

#include <algorithm>
#include <cstring>

#include "runtime/engine/comm_works.h"
#include "runtime/ops/op_def.h"

namespace hr::lowering {
namespace {

using comm::OpKind;
using comm::ReduceOp;

constexpr size_t kAlignment = 64;

// Names stand in the order of their codes, and type rules have checked those of nodes.
OpKind KindOf(const graph::Operator& op) {
  const auto found = std::ranges::find(comm::kOpKindNames, op.name, &comm::OpKindNames::op);
  return static_cast<OpKind>(found - std::begin(comm::kOpKindNames));
}

ReduceOp ReductionOf(const graph::Node& node) {
  if (node.Int("weighted", 0) != 0) return ReduceOp::kPreMultipliedSum;
  const auto found = std::ranges::find(comm::kReduceOpNames, node.String("op", "sum"));
  return static_cast<ReduceOp>(found - std::begin(comm::kReduceOpNames));
}

comm::Operation OperationOf(const Communication& what) {
  comm::Operation out{.kind = KindOf(what.op)};
  const bool point_to_point = out.point_to_point();
  out.peer = static_cast<int>(point_to_point ? what.node.Int("to", what.node.Int("from", 0))
                                             : what.node.Int("root", 0));
  out.tag = static_cast<uint32_t>(what.node.Int("tag", 0));
  out.run = what.run;
  if (what.dtype == DType::kUndefined) return out;
  out.dtype = what.dtype;
  out.count = what.bucket.bytes != 0 ? what.bucket.bytes / DTypeSize(what.dtype) : what.elements;
  if (out.reduces()) out.reduce_op = ReductionOf(what.node);
  return out;
}

// The elements of one block, of operations that divide their input among the ranks.
bool Divides(OpKind kind) { return kind == OpKind::kReduceScatter || kind == OpKind::kAllToAll; }

Status CheckRanks(const comm::Collectives& group, int64_t built_for, std::string_view op) {
  if (built_for == 0 || built_for == group.size()) return {};
  return FailedPrecondition(op, " was built for a group of ", built_for, " ranks ('ranks'), but ",
                            group.size(), " are bound; build the graph for these");
}

// What lies between the tensors of a bucket travels, too.
std::vector<Bucket::Part> GapsOf(const Bucket& bucket) {
  std::vector<Bucket::Part> out;
  for (size_t i = 0; i < bucket.parts.size(); ++i) {
    const size_t begin = bucket.parts[i].offset + bucket.parts[i].bytes;
    const size_t end = i + 1 < bucket.parts.size() ? bucket.parts[i + 1].offset : bucket.bytes;
    if (begin != end) out.push_back({begin, end - begin});
  }
  return out;
}

// The ranks on which an operation's output is not its result, but zeros.
struct Zeros {
  enum { kNowhere, kEverywhere, kFirst, kNotOnRoot } where = kNowhere;
  int root = 0;
  size_t bytes = 0;

  bool On(int rank) const {
    if (bytes == 0 || where == kNowhere) return false;
    return where == kEverywhere || (where == kFirst ? rank == 0 : rank != root);
  }
};

Zeros ZerosOf(const Communication& what) {
  const size_t width = what.dtype == DType::kUndefined ? 0 : DTypeSize(what.dtype);
  const auto root = static_cast<int>(what.node.Int("root", 0));
  if (what.op.name == "Exscan") return {Zeros::kFirst, root, what.elements * width};
  if (what.op.name == "Reduce") return {Zeros::kNotOnRoot, root, what.elements * width};
  const bool tells = what.op.name == "Send" && !what.node.outputs.empty();
  return tells ? Zeros{Zeros::kEverywhere, root, width} : Zeros{};
}

double WeightAt(const void* data, DType dtype) {
  return dtype == DType::kFloat64 ? *static_cast<const double*>(data)
                                  : *static_cast<const float*>(data);
}

}  // namespace

bool IsCommunication(const graph::Module& module, const graph::Node& node) {
  return module.OperatorOf(node).domain == ops::kComm;
}

uint32_t RunHash(const graph::Module& module, std::span<const graph::NodeId> order,
                 std::string_view group) {
  uint32_t hash = 0x811c9dc5;  // 32-bit FNV-1a
  for (graph::NodeId id : order) {
    const graph::Node& node = module.main().nodes[id];
    if (!IsCommunication(module, node) || node.String("group", "") != group) continue;
    // Ranks that send and receive have graphs of their own.
    const std::string& name = module.OperatorOf(node).name;
    if (name == "Send" || name == "Recv") return 0;
    for (char c : Cat(name, " ", node.name, ";")) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
    }
  }
  return std::max(hash, 1u);
}

bool UsesBucket(const graph::Operator& op) {
  return op.name == "AllReduce" || op.name == "Broadcast";
}

Bucket BucketOf(std::span<const size_t> bytes) {
  Bucket out;
  for (size_t one : bytes) {
    out.parts.push_back({out.bytes, one});
    out.bytes += (one + kAlignment - 1) / kAlignment * kAlignment;
  }
  return out;
}

bool Overlaps(const graph::Node& node) { return node.String("overlap", "auto") != "off"; }

std::unique_ptr<engine::Kernel> StartKernel(const Communication& what) {
  comm::Operation operation = OperationOf(what);
  const uint32_t group = what.group, slot = what.slot;
  const DType weight = what.weight;
  const int64_t ranks = what.node.Int("ranks", 0);
  const comm::Collectives::Driver driver = what.driver;
  const bool handed_over = driver == comm::Collectives::Driver::kGroup;
  std::string text = Cat(what.op.name, "+start", handed_over ? "+poller" : "");
  return engine::MakeKernel(
      text,
      [operation, group, slot, weight, ranks, driver, name = what.op.name,
       gaps = GapsOf(what.bucket)](const engine::Operands& p,
                                   const engine::LaunchContext& context) -> Status {
        comm::Collectives& collectives = context.comm->group(group);
        HR_RETURN_IF_ERROR(CheckRanks(collectives, ranks, name));
        comm::Operation posted = operation;
        if (Divides(posted.kind)) posted.count /= static_cast<uint64_t>(collectives.size());
        if (weight != DType::kUndefined) posted.factor = WeightAt(p.input(1), weight);
        // A rank without examples gives nothing, whatever its gradients are.
        if (posted.factor == 0) std::memset(p.output(0), 0, posted.bytes());
        for (const Bucket::Part& gap : gaps) {
          std::memset(p.output<std::byte>(0) + gap.offset, 0, gap.bytes);
        }
        return context.comm->Start(slot, group, posted, p.input(0), p.output(0), driver);
      });
}

std::unique_ptr<engine::Kernel> WaitKernel(const Communication& what) {
  const uint32_t group = what.group, slot = what.slot;
  const Zeros zeros = ZerosOf(what);
  return engine::MakeKernel(
      Cat(what.op.name, "+wait"),
      [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        HR_RETURN_IF_ERROR(context.comm->Finish(slot));
        if (zeros.On(context.comm->group(group).rank())) std::memset(p.output(0), 0, zeros.bytes);
        return {};
      });
}

}  // namespace hr::lowering
