// One text for all documents (expected.json; program_json.h) that say the same of lowered programs, so
// that documents are compared as text.
//
// A document becomes a set of lines, each with what it is about, what of that, and a value: "method
// forward cond%2.true, %0: {…}", "delegate D0 program, out0: {…}", "delegate D0, blob: …". Where the
// order of things counts, they have their numbers in it as names. Where it does not, and for symbols
// of sizes, names follow from the lines: all begin alike, and each round ranks things by the lines
// that name them, until nothing more is told apart. Of those that are still alike one is set apart,
// and so on: they could be exchanged, so it does not matter which. (Things that can't be exchanged
// and still look alike from everywhere are possible in theory. They could make a difference be
// reported that is none; equal texts are always those of equal documents.)
#ifndef BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
#define BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "conformance/json/json.h"

namespace belay::conformance {

// Of `methods`, `delegates`, `partitions` and `merged_named_data`, in the order that they have.
std::vector<std::string> CanonicalLines(const Json& document);

// Of `some`, those that are not in `others`, or not so often. Both are sorted.
template <class Strings>
std::vector<std::string> OnlyIn(const Strings& some, const Strings& others) {
  std::vector<std::string> only;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                      std::back_inserter(only));
  return only;
}

struct CompareOptions {
  // False: the case's makers did not see the edge program (`transform_and_lower`), so that what
  // they say of the order of things means nothing.
  bool order_is_known = true;
  // False: nor the nodes that debug maps are about. Numbers of handles are compared instead.
  bool handles_are_known = true;
};

// "" when both have the same lines, else those that differ: expected ones as "- …", others as "+ …";
// of many, the first. Where `expected` says `topological_only`, the order does not count: of a
// graph's nodes and the numbers of the delegates that it calls; of a delegate's nodes, inputs and
// results, and of the arguments and results of its calls. Where something stands in another order
// for that reason, nor do buffer numbers of named data, generated ids of debug maps, and the order
// of words in blobs that are no recordings. Nodes stand before their users in any order.
//
// Not compared: `slot`, `debug_handle`, `locations`, `type` of delegate calls, `getitem` entries
// (FORMAT.md), unreferenced tensors of no name (ExecuTorch leaves copies behind), and partitions
// and merged data that `expected` does not mention. The blob of a RecordingBackend must be the
// recording of its program. Merged data are expected to be aligned for all delegates that store
// the key; ExecuTorch aligns them for the first.
std::string CompareDocuments(Json expected, Json actual, const CompareOptions& options = {});

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
