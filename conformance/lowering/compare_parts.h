// Comparison of parts of expected.json with parts in the same form that came. Functions that
// compare return "" when equal, else the first difference.
#ifndef BELAY_CONFORMANCE_LOWERING_COMPARE_PARTS_H_
#define BELAY_CONFORMANCE_LOWERING_COMPARE_PARTS_H_

#include <string>
#include <vector>

#include "conformance/lowering/json_value.h"

namespace belay::conformance {

// Graphs by path with what is compared.
Json NormalGraphs(const Json& graphs);
std::string CompareGraphs(const Json& expected, const Json& came);
// No tensor that nothing names is left behind, as ExecuTorch does when it copies constants (§7.5).
std::string CompareState(const Json& expected, const Json& came);
// In any order, without `getitem`.
std::string ComparePartitions(const Json::Array& expected, const Json::Array& came);

// Whether the digest that is expected of a delegate's blob is that of the text that is.
std::string CompareDigest(const Json& delegate);

// A key that several delegates store is aligned for all of them; ExecuTorch aligns it for the first
// (§7.17).
Json AlignedForAll(const Json& merged, const Json::Array& delegates);
// Where nodes have another order, buffers have other numbers; digests say which are one.
Json WithoutBufferNumbers(const Json& data);
// The words of a blob but for numbers of nodes, sorted.
std::vector<std::string> WordsOf(const std::string& text);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_COMPARE_PARTS_H_
