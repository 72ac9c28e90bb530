// Cases in which Belay does something else than ExecuTorch on purpose.
#ifndef BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
#define BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_

#include <string_view>

namespace belay::conformance {

struct Difference {
  std::string_view name;
  // The weak point of lowering.md (§7.n, §11.n) that is repaired.
  std::string_view reference;
  std::string_view reason;
};

// Sorted by name. A case here that comes out as expected fails: then the row must go.
inline constexpr Difference kDifferences[] = {
    {"constant_in_list_argument", "§7.5", "users inside list arguments are found too"},
    {"getitem_tagged_alone", "§11.3", "results are not nodes that could be tagged alone"},
    {"mutation_also_returned", "§10", "a mutated value may be returned as well"},
    {"param_returned", "§7.5", "a constant that is returned as well is kept and copied"},
    {"split_opened", "§11.3", "results that are used cross one by one"},
    {"topk_tuple_escapes", "§11.3", "results that are used cross one by one"},
    {"user_input_mutation", "§2.15",
     "the mutation of an input stays an output of the program; its copy is made when it is "
     "emitted"},
    {"while_body_not_lowered", "§7.11", "bodies of while_loop are lowered too"},
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
