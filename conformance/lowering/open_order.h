// What the cases leave open about the order of things: nodes of a graph that ExecuTorch reorders,
// inputs and results of a delegate cut from one, and the numbers of its delegates.
//
// Where a case says `topological_only`, what came is put in the order of what is expected, as far
// as both have the same structure, and is then compared like everything else.
#ifndef BELAY_CONFORMANCE_LOWERING_OPEN_ORDER_H_
#define BELAY_CONFORMANCE_LOWERING_OPEN_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/lowering/lowered_form.h"

namespace belay::conformance {

// Of the expected form.
struct OpenOrder {
  std::set<std::pair<std::string, std::string>> graphs;  // method, path
  std::set<size_t> delegates;
  bool empty() const { return graphs.empty() && delegates.empty(); }
};

struct Reordered {
  LoweredForm form;                // what came, in the order of what is expected
  std::vector<size_t> numbers;     // by delegate of `form`, the number with which it came
  std::vector<bool> changed;       // by delegate of `form`, whether something in it moved
  bool any_graph_changed = false;  // of a method
  bool any_moved() const {
    return any_graph_changed || std::find(changed.begin(), changed.end(), true) != changed.end();
  }
  // Delegates that may not change places but did; "" when there are none.
  std::string wrong_order;
};

// Precondition: both have the same methods and as many delegates.
Reordered InOrderOf(const LoweredForm& expected, const OpenOrder& open, const LoweredForm& came);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_OPEN_ORDER_H_
