// What a module should give: the reference's answer, and how far from it rounding may lead.
//
// The reference computes exactly; the library rounds after every operation. How much that may
// change depends on the graph (a difference of near equals, a long chain), so it is measured: the
// reference runs again with every input, initial value and result of a node moved at random by 10
// to 20 units in the last place of its type (ulps). To first order that is 10 to 20 times the
// effect of one-ulp noise, so an element that is off by more than the largest change seen is beyond
// 20 times what rounding explains. Why this is sound:
//  - a kernel that rounds well is exact for inputs and results moved by a few ulps (it is backward
//    stable), and both are moved here; each is judged in the type that it has;
//  - the other operators round inside, so what they take is moved for them, exact or not: a sum of
//    terms that cancel by their structure is known no better than its terms. A few leave a
//    small rest of larger numbers (log(1 + x), 1 + erf(x), gradients of normalizations), and their
//    results move by ulps of those;
//  - what is computed of equal numbers is rounded alike, and such errors add up where independent
//    ones would not (the sum over places whose softmax is the same): some runs move equal numbers
//    of a value by the same, and all results of a normalization, which have a rounded mean in
//    common; the others move each by its own;
//  - where a decision turns, a small step may lead further than a large one (the rest of a division
//    by what is nearly its divisor), and the library meets it at numbers of its types, as
//    the reference does not: some runs do not move numbers, but round them up or down;
//  - operators that copy or select move nothing; whole numbers that are fed stay in place, and
//    results that are exactly representable, if the operator rounds at most once, or sums terms
//    whose sizes add up to what is representable, too: then it commits no rounding error. So
//    counts, copies and selections must agree bit for bit;
//  - a decision (comparison, Floor, ArgMax, …) that noise turns is no better known to the library:
//    an element of an integer type that changes in any run is left out, and a float takes the jump
//    into its tolerance;
//  - below the smallest normal number a kernel may flush to zero, so the noise there is as large;
//  - few runs may happen to leave an element where it is. Where the library disagrees, more runs
//    are added before that counts.
// Random numbers are drawn by the library and given to the reference.
#pragma once

#include <map>
#include <optional>

#include "tests/conformance/random_graphs/session.h"
#include "tests/reference/evaluator.h"

namespace hr::random_graphs {

using reference::Array;
using reference::Number;

// Values that the reference takes as given, by step.
using Drawn = std::vector<std::map<graph::ValueId, Array>>;

class Expectation {
 public:
  // Runs the reference. `module` (with the signature "run") must outlive the expectation.
  static Result<Expectation> Create(const graph::Module& module, const std::vector<Feed>& feeds,
                                    int steps, Drawn drawn);

  // "" where everything is defined; else the node whose result is too large or not a number.
  const std::string& undefined() const { return undefined_; }
  // "" where the results agree; otherwise says what differs and by how much.
  // A difference counts once `most_runs` noisy runs cannot explain it.
  Result<std::string> Difference(const Results& results, uint64_t most_runs = 60);
  // The reference's value of the first step; null where nothing needed it.
  const Array* ValueOf(graph::ValueId value) const;
  // The elements that were judged, and those that noise leaves open.
  int64_t judged() const { return judged_; }
  int64_t open() const { return open_; }

 private:
  struct Judged {
    std::string name;
    Array value;
    std::vector<Number> spread;  // infinite where the element is undecided
  };

  Expectation(const graph::Module& module, int steps, Drawn drawn)
      : module_(&module), steps_(steps), drawn_(std::move(drawn)) {}
  Status Prepare(const std::vector<Feed>& feeds);
  Result<std::vector<Array>> Run(uint64_t run);
  Status RunStep(uint64_t run, int step, std::vector<Array>& variables);
  Status RunNode(uint64_t run, int step, graph::NodeId id, std::vector<Array>& variables);
  void NoteUndefined(graph::NodeId id, const std::vector<const Array*>& inputs);
  // What of a value moves: fed ones unless they are whole numbers, those of operators that round
  // once or sum unless they are representable, all, all (by the same in runs that move alike).
  enum class Moved { kFed, kRounded, kAlways, kTogether };
  // Moves what is not exact, as if no element were smaller than `least` or than the sum of its
  // terms' sizes; the base run, 0, notes what is exact.
  void Disturb(uint64_t run, uint64_t place, Moved moved, Array& array, Number least = 0);
  // The base run notes what Disturb and EqualNearby ask for of this node.
  Status NoteSums(int step, const graph::Node& node, const std::vector<const Array*>& inputs);
  void NoteDifferences(uint64_t place, const Array& a, const Array& b, const Dims& dims);
  // Numbers may be equal if noise moves them against each other by as much as they are apart.
  void EqualNearby(uint64_t place, const Array& a, const Array& b, Array& y) const;
  Status AddRuns(uint64_t count);
  std::string Compare(const Results& results);

  const graph::Module* module_;
  int steps_;
  Drawn drawn_;
  std::map<graph::ValueId, Array> given_;  // feeds and constants
  std::vector<graph::NodeId> order_;       // of the nodes that are needed
  std::vector<std::optional<Array>> values_;
  std::vector<std::optional<Array>> first_;  // the values of the base run's first step
  // From the base run, by place.
  std::map<uint64_t, std::vector<char>> exact_;
  std::map<uint64_t, std::vector<Number>> sums_;   // of the terms' sizes
  std::map<uint64_t, std::vector<Number>> apart_;  // what an Equal compares
  std::vector<Judged> judged_values_;
  std::string undefined_;
  uint64_t runs_ = 1;
  int64_t judged_ = 0;
  int64_t open_ = 0;
};

}  // namespace hr::random_graphs
