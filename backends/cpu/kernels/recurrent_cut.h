// How the work of a recurrent layer's steps is cut.
#pragma once

#include "backends/cpu/kernels/recurrent_layout.h"
#include "backends/cpu/kernels/steady_product.h"

namespace hr::cpu {

// Each task has some of the sequences and some of the hidden units, and all that depends on them
// alone in memory of its own. With one part of the hidden units, tasks do not meet between steps.
struct RecurrentCut {
  int groups = 1, parts = 1;          // of the sequences, of the hidden units
  int64_t sequences = 0, hidden = 0;  // of a task, at most; `hidden` as the products want it
  int64_t steps = 1;                  // whose x is multiplied at one time

  int tasks() const { return groups * parts; }
};

// Of a task: x by W, the state by R; `last`: by R's last part, of the candidate of a GRU.
struct RecurrentProducts {
  SteadyShape project, joint, last;

  RecurrentProducts(const RecurrentShape& shape, const RecurrentLayout& layout,
                    const RecurrentCut& cut);
  // Elements of the other matrices that are read between two products by this one's.
  int64_t Others(const SteadyShape& product) const;
};

template <typename T>
RecurrentCut MakeRecurrentCut(const RecurrentShape& shape, const RecurrentLayout& layout);

}  // namespace hr::cpu
