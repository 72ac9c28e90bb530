// What a deliberate difference does not concern must be as expected all the same.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_BESIDES_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_BESIDES_H_

#include <string>

#include "conformance/lowering/json_value.h"

namespace belay::conformance {

// What may differ. Graphs of methods and programs of delegates always may: that is what lowering
// makes.
struct Concerns {
  bool operators = false;        // there are others
  bool constants = false;        // who has them
  bool signature = false;        // kinds and order of inputs and outputs
  bool fewer_delegates = false;  // none that have no operator of their own
  bool more_delegates = false;
};

// "" or what differs although no difference of this kind explains it. Both documents have the form
// of expected.json: `methods` and `delegates`; what came has no `order`, and stands in the expected
// order as far as that is open.
//
// Compared are delegates' backends and compile specs, signatures, state, the operators and named
// tensors that are there in all, proposals, and whatever belongs to a delegate whose program came
// as expected. Recordings that are expected must be those of the programs that are. When all graphs
// are equal, nothing of lowering differs, and nothing is explained.
std::string CompareBesides(const Json& expected, const Json& came, const Concerns& concerns);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_BESIDES_H_
