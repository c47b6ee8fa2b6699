#include "runtime/graph/fingerprint.h"

namespace hr::graph {
namespace {

constexpr size_t kSmall = 4096;

class Hash {
 public:
  uint64_t value() const { return value_; }

  void Bytes(const void* data, size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3;
  }
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void Add(T number) {
    Bytes(&number, sizeof number);
  }
  void Add(std::string_view text) {
    Add(text.size());
    Bytes(text.data(), text.size());
  }
  void Add(TensorIndex index) { Add(index.index); }
  void Add(GraphIndex index) { Add(index.index); }
  template <typename T>
  void Add(const std::vector<T>& items) {
    Add(items.size());
    for (const T& item : items) Add(item);
  }
  void Add(const std::string& text) { Add(std::string_view(text)); }
  void Add(const Dim& dim) {
    Add(dim.size);
    Add(dim.symbol);
  }
  void Add(const Symbol& symbol) {
    Add(symbol.name);
    Add(symbol.min);
    Add(symbol.max);
  }
  void Add(const Operator& op) {
    Add(op.domain);
    Add(op.name);
    Add(op.version);
  }
  void Add(const Attribute& attribute) {
    Add(attribute.name);
    Add(attribute.value.index());
    std::visit([this](const auto& value) { Add(value); }, attribute.value);
  }
  void Add(const Node& node) {
    Add(node.op);
    Add(node.inputs);
    Add(node.outputs);
    Add(node.controls);
    Add(node.attributes);
  }
  void Add(const Value& value) {
    Add(value.type.dtype);
    Add(value.type.kind);
    Add(value.type.ranked);
    Add(value.type.dims);
    Add(value.constant);
  }
  void Add(const Graph& graph) {
    Add(graph.values);
    Add(graph.nodes);
    Add(graph.inputs);
    Add(graph.outputs);
  }
  void Add(const Variable& variable) {
    Add(variable.name);
    Add(variable.dtype);
    Add(variable.dims);
  }
  void Add(const Tensor& constant, bool initial) {
    Add(constant.dtype());
    Add(constant.dims());
    if (!initial && constant.bytes() <= kSmall) Bytes(constant.data(), constant.bytes());
  }
  void Add(const Port& port) {
    Add(port.name);
    Add(port.value);
  }
  void Add(const Signature& signature) {
    Add(signature.name);
    Add(signature.inputs);
    Add(signature.outputs);
    Add(signature.targets);
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

uint64_t Fingerprint(const Module& module) {
  Hash hash;
  hash.Add(module.operators);
  hash.Add(module.symbols);
  hash.Add(module.graphs);
  hash.Add(module.variables);
  const Marks initial = module.InitialConstants();
  for (size_t i = 0; i < initial.size(); ++i) hash.Add(module.constants[i], initial[i] != 0);
  hash.Add(module.signatures);
  return hash.value();
}

uint64_t VariableFingerprint(const Module& module) {
  Hash hash;
  hash.Add(module.variables);
  return hash.value();
}

}  // namespace hr::graph
