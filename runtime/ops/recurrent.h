// What the attributes of RNN, GRU and LSTM say. Kernels use the same functions as the type rules,
// so defaults are settled in one place.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/graph/graph.h"

namespace hr::ops {

enum class RecurrentCell : uint8_t { kRnn, kGru, kLstm };

// An activation of a cell. `alpha` and `beta` are ONNX's, and 0 if it has none.
struct RecurrentActivation {
  enum Function : uint8_t {
    kAffine,
    kElu,
    kHardSigmoid,
    kLeakyRelu,
    kRelu,
    kScaledTanh,
    kSigmoid,
    kSoftplus,
    kSoftsign,
    kTanh,
    kThresholdedRelu
  };
  Function function = kTanh;
  double alpha = 0;
  double beta = 0;
};

struct RecurrentDirection {
  bool reverse = false;
  std::array<RecurrentActivation, 3> activations;  // f, g, h of ONNX's formulas
};

struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::kRnn;
  std::vector<RecurrentDirection> directions;  // one or two
  bool batch_first = false;                    // layout 1: x is [batch, steps, …]
  bool linear_before_reset = false;            // of a GRU
  bool input_forget = false;                   // of an LSTM: the forget gate is 1 - the input gate
  double clip = std::numeric_limits<double>::infinity();  // bounds what activations are given

  // W has gates() * hidden rows, in ONNX's order of the gates.
  int64_t gates() const;
};

// The inputs and outputs by their places. What a cell does not have is kNoPlace.
inline constexpr size_t kNoPlace = 99;
struct RecurrentPlaces {
  // (x, w, r, bias?, lengths?, initial_h?, initial_c?, peepholes?) → (y?, y_h?, y_c?, record?)
  size_t initial_c, peepholes, y_c, record;
  // (record, x, w, r, lengths?, initial_h?, initial_c?, peepholes?, dy?, dy_h?, dy_c?) →
  // (dw, dr, dbias, dinitial_h, dinitial_c, dpeepholes, dx?)
  size_t dy, dy_h, dy_c, dx;
};
const RecurrentPlaces& PlacesOf(RecurrentCell cell);

// The parts of a row of a record, each of `hidden` elements. It begins with what the activations of
// the gates are given, in the order of W.
//   GRU:  at kGruInner, what R's last part multiplies: reset gate * previous h; or, with
//         linear_before_reset, its product with h and its bias
//   LSTM: at kLstmState, the cell state
// The last part is h. Behind a sequence's end the gates are 0, and the states those of before.
inline constexpr int64_t kGruInner = 3;
inline constexpr int64_t kLstmState = 4;
int64_t RecordParts(RecurrentCell cell);

// The cell of RNN, GRU, LSTM, or of the gradient of one of them.
RecurrentCell CellOf(std::string_view operator_name);

// Fails with a sentence that names the attribute.
Result<RecurrentOptions> ResolveRecurrent(std::string_view operator_name, const graph::Node& node);

}  // namespace hr::ops
