// One text for all documents (expected.json; program_json.h) that say the same of lowered
// programs, so that documents are compared as text.
//
// Nodes, delegates, and the inputs and results of a delegate's program are numbered anew, in the
// order of a walk: from the outputs of each method to operands, in their order, each before what
// takes it; into a delegate by the result that is taken, and out of it by the input that is read to
// the argument of the call. At no step is there a choice, so two documents that differ only in the
// order in which they list things are walked alike, and everything gets the same number in both.
// That holds for symmetric structures too: two equal delegates get their numbers by who takes their
// results first, and where nothing tells them apart, exchanging them gives the same text. What no
// output needs is walked afterwards, each time from where the text of what is new is least. Of
// equal texts any may be next if nothing else is connected with what they are about, as exchanging
// the two changes nothing; otherwise all are tried, and the least of the complete texts counts (up
// to a number of attempts beyond which a difference could be reported that is none; an equal text
// is always that of an equal document).
//
// Symbols are numbered as they appear, those first that are a size or number by themselves.
#ifndef BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
#define BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_

#include <string>
#include <vector>

#include "conformance/lowering/json.h"

namespace belay::conformance {

// Of `methods`, `delegates`, `partitions` and `merged_named_data`; with the order in which the
// document lists things. Each line says what it is about, what of that, and a value: "method
// forward cond%2.true, %0: {…}", "delegate D0 program, out0: {…}", "delegate D0, blob: …".
std::vector<std::string> CanonicalLines(const Json& document);

struct CompareOptions {
  // False: the case's makers did not see the edge program (`transform_and_lower`), so that what
  // they say of the order of things means nothing.
  bool order_is_known = true;
  // False: nor the nodes that debug maps are about. Numbers of handles are compared instead.
  bool handles_are_known = true;
};

// "" when both have the same text, else the lines that differ: expected ones as "- …", others as
// "+ …"; of many, the first. Where `expected` says
// `topological_only`, the order does not count: of a graph's nodes and the numbers of the delegates
// that it calls; of a delegate's nodes, inputs and results, and of the arguments and results of its
// calls. Where something stands in another order for that reason, nor do buffer numbers of named
// data, generated ids of debug maps, and the order of words in blobs that are no recordings.
//
// Not compared: `slot`, `debug_handle`, `locations`, `type` of delegate calls, `getitem` entries
// (FORMAT.md), unreferenced tensors of no name (ExecuTorch leaves copies behind), and partitions
// and merged data that `expected` does not mention. The blob of a RecordingBackend must be the
// recording of its program. Merged data are expected to be aligned for all delegates that store
// the key; ExecuTorch aligns them for the first.
std::string CompareDocuments(Json expected, Json actual, const CompareOptions& options = {});

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CANONICAL_TEXT_H_
