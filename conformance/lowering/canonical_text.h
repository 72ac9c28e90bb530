// Canonical form of documents (expected.json; program_json.h): documents that describe the same
// lowered programs have the same lines, so documents are compared as text.
//
// A document becomes a set of lines, each with a subject, an attribute and a value: "method forward
// cond%2.true, %0: {…}", "delegate D0 program, out0: {…}", "delegate D0, blob: …". Objects whose
// order counts have their index as name. All others, and symbols of sizes, are named by color
// refinement: all start with the same rank, and each round ranks them by the lines that name them,
// until the ranks are stable. Objects that still have the same rank are interchangeable; one is
// individualized, and refinement continues. (In theory, objects that are not interchangeable can
// have the same rank. Then a difference may be reported between equivalent documents; equal lines
// always mean equivalent documents.)
#ifndef BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
#define BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "conformance/json/json.h"

namespace belay::conformance {

// Returns the lines of `methods`, `delegates`, `partitions` and `merged_named_data`, in the
// document's order.
std::vector<std::string> CanonicalLines(const Json& document);

// Returns the multiset difference `some` - `others`. Both must be sorted.
template <class Strings>
std::vector<std::string> OnlyIn(const Strings& some, const Strings& others) {
  std::vector<std::string> only;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                      std::back_inserter(only));
  return only;
}

struct CompareOptions {
  // False: the edge program was not visible when the case was recorded (`transform_and_lower`), so
  // its orders mean nothing.
  bool order_is_known = true;
  // False: the nodes of debug maps were not visible either. Compares the numbers of handles
  // instead.
  bool handles_are_known = true;
};

// Returns "" if both documents have the same lines; otherwise the first lines that differ, expected
// ones as "- …", actual ones as "+ …".
//
// If `expected` has `topological_only`, these orders are ignored: nodes of a graph; numbers of the
// delegates that it calls; nodes, inputs and results of a delegate; arguments and results of its
// calls. If an order differs for that reason, these are ignored as well: buffer numbers of named
// data, generated ids of debug maps, and the order of words in blobs that are not recordings. Nodes
// precede their users in any order.
//
// Never compared: `slot`, `debug_handle`, `locations`, `type` of delegate calls, `getitem` entries
// (FORMAT.md), unreferenced unnamed tensors (ExecuTorch leaves copies), and partitions and merged
// data that `expected` does not mention. The blob of a RecordingBackend must be the recording of
// its program. Merged data must have the alignment of all delegates that store the key; ExecuTorch
// uses the alignment of the first.
std::string CompareDocuments(Json expected, Json actual, const CompareOptions& options = {});

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
