#include "runtime/session/stages.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/session/plan.h"
#include "runtime/transform/extract.h"

namespace hr::session {
namespace {

// Loops whose states grow meet new shapes all the time.
constexpr size_t kMostKept = 64;

bool SameContents(const Tensor& a, const Tensor& b) {
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool SameType(const RunValue& a, const RunValue& b) {
  return a.dtype == b.dtype && a.kind() == b.kind() && a.tensor.dims() == b.tensor.dims();
}

// The body of a host node as a module of its own; without a graph if it has none.
graph::Module BodyModule(const graph::Module& whole, const graph::Node& node) {
  const auto* attribute = node.Find("body");
  if (attribute == nullptr) return {.graphs = {}};
  const uint32_t index = std::get<graph::GraphIndex>(*attribute).index;
  const graph::Graph& body = whole.graphs[index];
  transform::Request request{.graph = index, .fetches = body.outputs};
  for (graph::ValueId input : body.inputs) request.feeds.push_back({.value = input});
  return transform::Extract(whole, request).module;
}

}  // namespace

bool StageTree::Matches(const Entry& entry, std::span<const RunValue> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!SameType(entry.key[i], inputs[i])) return false;
    if (Decides(i) && !SameContents(entry.key[i].tensor, inputs[i].tensor)) return false;
  }
  return true;
}

std::shared_ptr<StageNode> StageTree::FindLocked(std::span<const RunValue> inputs) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return Matches(entry, inputs); });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->stage;
}

Result<std::vector<RunValue>> StageTree::KeyOf(std::span<const RunValue> inputs) const {
  std::vector<RunValue> out(inputs.begin(), inputs.end());
  for (size_t i = 0; i < out.size(); ++i) {
    RunValue& value = out[i];
    if (value.sequence != nullptr) value = RunValue::Sequence(value.dtype, {});
    if (!value.tensor.defined()) continue;
    if (Decides(i)) {
      HR_ASSIGN_OR_RETURN(value.tensor, value.tensor.Clone(compiler_.allocator()));
      continue;
    }
    static constexpr std::byte kNothing{};
    const BufferRef none = AdoptBuffer(const_cast<std::byte*>(&kNothing), 0, {}, nullptr, nullptr);
    value.tensor = Tensor::Strided(none, 0, value.dtype, value.tensor.dims(), {});
  }
  return out;
}

Result<std::shared_ptr<StageNode>> StageTree::Make(std::span<const RunValue> key) const {
  std::vector<transform::StageInput> known;
  for (size_t i = 0; i < key.size(); ++i) {
    const bool decides = Decides(i) && key[i].tensor.defined();
    known.push_back({key[i].type(), decides ? &key[i].tensor : nullptr});
  }
  HR_ASSIGN_OR_RETURN(auto&& stage, compiler_.Make(module_, known));
  return StageNode::Create(std::move(stage), compiler_);
}

Result<std::shared_ptr<StageNode>> StageTree::At(std::span<const RunValue> inputs) {
  {
    std::lock_guard lock(mutex_);
    if (auto known = FindLocked(inputs)) return known;
  }
  HR_ASSIGN_OR_RETURN(auto&& key, KeyOf(inputs));
  HR_ASSIGN_OR_RETURN(auto&& made, Make(key));
  std::lock_guard lock(mutex_);
  // Two threads may make the same stage at once; the first one stays.
  if (auto known = FindLocked(inputs)) return known;
  entries_.push_front({std::move(key), made});
  if (entries_.size() > kMostKept) entries_.pop_back();
  return std::shared_ptr<StageNode>(std::move(made));
}

void StageTree::Trim() {
  std::lock_guard lock(mutex_);
  entries_.clear();
}

void StageTree::Describe(JsonWriter& json) const {
  std::lock_guard lock(mutex_);
  json.BeginArray();
  for (const Entry& entry : entries_) {
    const StageNode& node = *entry.stage;
    json.BeginObject().Key("inputs").BeginArray();
    for (const RunValue& value : entry.key) json.Value(graph::TypeText(value.type(), {}));
    json.EndArray().Key("compiled");
    if (node.plan() == nullptr) {
      json.Null();
    } else {
      json.Raw(node.plan()->Describe(node.plan()->full()));
    }
    json.Key("host").BeginArray();
    const graph::Module& whole = node.stage().whole;
    for (size_t i = 0; i < node.stage().host.size(); ++i) {
      const graph::NodeId id = node.stage().host[i].node;
      json.BeginObject()
          .Field("node", graph::NodeText(whole, whole.main(), id))
          .Field("op", whole.OperatorOf(whole.main().nodes[id]).name);
      if (node.body(i) != nullptr) {
        json.Key("body");
        node.body(i)->Describe(json);
      }
      json.EndObject();
    }
    json.EndArray().Key("then");
    if (node.rest() == nullptr) {
      json.Null();
    } else {
      node.rest()->Describe(json);
    }
    json.EndObject();
  }
  json.EndArray();
}

Result<std::shared_ptr<StageNode>> StageNode::Create(transform::Stage stage,
                                                     const StageCompiler& compiler) {
  std::shared_ptr<StageNode> out(new StageNode);
  if (!stage.ready.main().nodes.empty()) {
    HR_ASSIGN_OR_RETURN(out->plan_, compiler.Compile(std::move(stage.ready)));
  }
  for (const transform::HostNode& host : stage.host) {
    graph::Module body = BodyModule(stage.whole, stage.whole.main().nodes[host.node]);
    out->bodies_.push_back(body.graphs.empty() ? nullptr
                                               : std::make_unique<StageTree>(
                                                     std::move(body), graph::Marks(), compiler));
  }
  if (!stage.last) {
    out->rest_ =
        std::make_unique<StageTree>(std::move(stage.rest), std::move(stage.decides), compiler);
  }
  out->stage_ = std::move(stage);
  return out;
}

}  // namespace hr::session
