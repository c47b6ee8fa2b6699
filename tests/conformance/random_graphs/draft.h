// A program that grows node by node. Each node is evaluated by the reference as soon as it stands,
// so what is drawn next knows the values that it takes: their types, shapes and ranges.
#pragma once

#include <functional>
#include <map>

#include "tests/conformance/random_graphs/assemble.h"
#include "tests/conformance/random_graphs/rng.h"
#include "tests/reference/evaluator.h"

namespace hr::random_graphs {

// Sets of element types.
enum : unsigned {
  kFloats = 1,  // float32, float64
  kHalves = 2,  // float16, bfloat16
  kWords = 4,   // int32, int64
  kSmalls = 8,  // the other integers
  kBools = 16,
  kReal = kFloats | kHalves,
  kIntegers = kWords | kSmalls,
  kNumbers = kFloats | kHalves | kIntegers,
  kAny = kNumbers | kBools,
};
unsigned KindOf(DType dtype);

// What an operand has to be.
struct Wanted {
  unsigned types = kFloats;
  double low = -1e30;
  double high = 1e30;
  size_t least_rank = 0;
  size_t most_rank = 6;
};

struct Known {
  std::string name;
  DType dtype;
  Dims dims;
  double low = 0;  // of its finite elements
  double high = 0;
  bool trainable = false;  // depends on a variable through floats
  bool used = false;
  size_t rank() const { return dims.size(); }
};

class Draft {
 public:
  Draft(const ops::OpRegistry& registry, uint64_t seed);

  Rng& rng() { return rng_; }
  const ops::OpRegistry& registry() const { return registry_; }
  int64_t batch() const { return batch_; }
  DType main_type() const { return main_type_; }
  const std::vector<Known>& known() const { return known_; }
  const Known& operator[](const std::string& name) const;
  Program& program() { return program_; }

  // ---- Leaves ----
  // An input, a constant or a variable, within the range as far as it is not wide.
  std::string Leaf(DType dtype, Dims dims, double low = -2, double high = 2);
  std::string Input(DType dtype, Dims dims, double low, double high);
  std::string Variable(DType dtype, Dims dims, double low = -1, double high = 1);
  std::string Constant(DType dtype, Dims dims, std::vector<double> values);
  // An int64 constant [n].
  std::string Ints(const std::vector<int64_t>& values);
  // Indices from -size to size - 1; at random an input or a constant.
  std::string Indices(Dims dims, int64_t size, bool negative = true);
  // Elements that may be infinite or none; only named by what this returns.
  std::string Special(Data data);
  DType AnyType(unsigned types);
  // Mostly beginning with the batch; sizes of 1 and odd ones.
  Dims AnyDims(size_t least_rank = 0, size_t most_rank = 4);
  // Broadcasts to `dims`: some sizes are 1, some in front are missing.
  Dims SmallerDims(const Dims& dims);

  // ---- Operands ----
  // A value that fits, a recent one rather; where there is none, or at times, a new leaf. Values
  // out of the range are clipped to it.
  std::string Operand(const Wanted& wanted);
  // A second operand of `first`'s type that broadcasts with it: often `first` itself.
  std::string Partner(const std::string& first, double low = -1e30, double high = 1e30);
  // From now on operands are this value, if its type and rank fit; "": any.
  void Focus(std::string name) { focus_ = std::move(name); }
  // Any known value for which `fits` holds, or "".
  std::string Find(const std::function<bool(const Known&)>& fits);

  // ---- Nodes ----
  // Adds a node with this many outputs and returns their names; none if it failed, or its values
  // are too large to go on with.
  std::vector<std::string> Node(const std::string& op, int version,
                                std::vector<std::string> operands, size_t outputs = 1,
                                std::vector<NamedAttribute> attributes = {});
  // The first output, or "".
  std::string One(const std::string& op, int version, std::vector<std::string> operands,
                  std::vector<NamedAttribute> attributes = {});
  // The gradients, or none.
  std::vector<std::string> Gradient(const std::string& of, const std::vector<std::string>& by);

 private:
  std::string Clipped(const std::string& name, const Wanted& wanted);
  std::string AddLeaf(Statement::Kind kind, Data data);
  bool Add(Statement statement);
  bool Evaluate(const Statement& statement);
  Result<std::vector<reference::Array>> Outputs(const graph::Node& node,
                                                const std::vector<const reference::Array*>& inputs);
  bool Note(const std::string& name, const reference::Array& array, bool trainable);
  std::string Name(const char* prefix) { return Cat(prefix, count_++); }

  const ops::OpRegistry& registry_;
  Rng rng_;
  Assembler assembler_;
  Program program_;
  DType main_type_;
  int64_t batch_;
  std::vector<int64_t> sizes_;  // that dimensions are drawn from: few, so that shapes meet
  int count_ = 0;
  std::string focus_;
  std::vector<Known> known_;
  std::map<graph::ValueId, reference::Array> values_;
  std::vector<reference::Array> variables_;
};

}  // namespace hr::random_graphs
