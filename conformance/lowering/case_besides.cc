#include "conformance/lowering/case_besides.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "conformance/lowering/compare_parts.h"
#include "conformance/lowering/normal_form.h"
#include "conformance/lowering/recording_text.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using Texts = std::multiset<std::string>;

// Those of `a` that `b` lacks.
std::string Missing(const Texts& a, const Texts& b) {
  std::vector<std::string> missing;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(missing));
  return absl::StrJoin(missing, " ");
}

std::string CompareTexts(const char* what, const Texts& expected, const Texts& came,
                         bool more = false) {
  const std::string missing = Missing(expected, came);
  const std::string surplus = more ? "" : Missing(came, expected);
  if (missing.empty() && surplus.empty()) return "";
  return absl::StrCat(what, ": expected besides what came: [", missing, "], came besides: [",
                      surplus, "]");
}

std::string BackendText(const Json& delegate) {
  return absl::StrCat(delegate["backend_id"].text(), delegate["compile_specs"].Dump());
}

// Copies into inputs are made at emission here, so that they don't count as operators.
bool IsNode(const Json& entry) {
  const std::string& op = entry["op"].text();
  return !op.empty() && op != "aten.copy.default" && op != "aten.copy_.default";
}

// Whether there is more to do in it than to take results and to copy.
bool HasNodes(const Json& delegate) {
  for (const auto& [path, entries] : delegate["program"].object()) {
    if (std::any_of(entries.array().begin(), entries.array().end(), IsNode)) return true;
  }
  return false;
}

void AddOperators(const Json& graphs, Texts& operators) {
  for (const auto& [path, entries] : graphs.object()) {
    for (const Json& entry : entries.array()) {
      if (IsNode(entry) && entry["kind"].text() != "delegate") operators.insert(entry["op"].text());
    }
  }
}

Texts OperatorsOf(const Json& document) {
  Texts operators;
  for (const auto& [name, method] : document["methods"].object()) {
    AddOperators(method["graphs"], operators);
  }
  for (const Json& delegate : document["delegates"].array()) {
    AddOperators(delegate["program"], operators);
  }
  return operators;
}

// Tensors with a name, wherever they are. A copy counts as the one it is of.
Texts NamesOf(const Json& document) {
  std::set<std::string> names;
  const auto add = [&](const Json& list) {
    for (const Json& name : list.array()) {
      if (!name.text().starts_with("sha256:")) names.insert(name.text());
    }
  };
  for (const auto& [name, method] : document["methods"].object()) {
    add(method["state"]["state_dict"]);
    add(method["state"]["constants"]);
  }
  for (const Json& delegate : document["delegates"].array()) add(delegate["constants_owned"]);
  return Texts(names.begin(), names.end());
}

// What callers give and get.
Texts UserBorder(const Json& signature) {
  Texts border;
  for (const char* side : {"inputs", "outputs"}) {
    for (const Json& spec : signature[side].array()) {
      const std::string& kind = spec["kind"].text();
      if (kind.starts_with("user_")) border.insert(absl::StrCat(side, ":", kind));
    }
  }
  return border;
}

// Blobs of these list other partitions than the delegate's.
bool SaysMoreThanItsProgram(const Json& delegate) {
  static const std::set<std::string>& ids = *new std::set<std::string>{
      "EchoBackend", "PreprocessAllBackend", "OtherPreprocessAllBackend", "ReplyBackend"};
  return ids.contains(delegate["backend_id"].text());
}

// Of two delegates with the same program.
std::string CompareDelegate(const Json& expected, const Json& came) {
  if (!SaysMoreThanItsProgram(expected)) {
    for (const char* field : {"processed_text", "processed_bytes_sha256"}) {
      if (!expected.contains(field) || expected[field] == came[field]) continue;
      return absl::StrCat(field, ": expected ", expected[field].text(), ", came ",
                          came[field].text());
    }
  }
  std::set<std::string> wanted, owned;
  for (const Json& name : expected["constants_owned"].array()) wanted.insert(name.text());
  for (const Json& name : came["constants_owned"].array()) owned.insert(name.text());
  if (wanted != owned) {
    return absl::StrCat("constants: expected ", absl::StrJoin(wanted, " "), ", came ",
                        absl::StrJoin(owned, " "));
  }
  // A backend that stores nothing may say so, or nothing.
  const Json& data = expected["named_data"];
  if (data.is_null() && came["named_data"]["buffers"].number() == 0) return "";
  return FirstDifference(WithoutBufferNumbers(data), WithoutBufferNumbers(came["named_data"]),
                         "named_data");
}

// Delegates whose program is expected are expected. Sets whether all programs are.
std::string CompareDelegates(const Json::Array& expected, const Json::Array& came,
                             bool* all_equal) {
  std::vector<bool> taken(expected.size(), false);
  *all_equal = expected.size() == came.size();
  for (size_t i = 0; i < came.size(); ++i) {
    std::string difference;
    bool found = false, same_program = false;
    // The one of its number first.
    for (size_t k = 0; k < expected.size() && !found; ++k) {
      const size_t j = (i + k) % expected.size();
      if (taken[j] || BackendText(expected[j]) != BackendText(came[i]) ||
          !CompareGraphs(expected[j]["program"], came[i]["program"]).empty()) {
        continue;
      }
      same_program = true;
      const std::string other = CompareDelegate(expected[j], came[i]);
      if (difference.empty()) difference = other;
      found = other.empty();
      taken[j] = found;
    }
    if (same_program && !found) return absl::StrCat("delegate ", i, ": ", difference);
    *all_equal = *all_equal && found;
  }
  return "";
}

// Whether the text that is expected of a RecordingBackend is that of the program that is.
std::string CheckRecording(const Json& delegate, const std::vector<std::string>& backend_ids) {
  if (!delegate.contains("processed_text")) return "";
  if (std::string difference = CompareDigest(delegate); !difference.empty()) return difference;
  if (delegate["backend_id"].text() != "RecordingBackend") return "";
  Json::Object graphs;
  for (const auto& [path, entries] : delegate["program"].object()) {
    Json::Array kept;
    for (const Json& entry : entries.array()) {
      if (entry["kind"].text() != "getitem") kept.push_back(entry);
    }
    graphs[path] = std::move(kept);
  }
  // Keyword arguments stand in no order there.
  const std::string& text = delegate["processed_text"].text();
  if (WordsOf(RecordingText(graphs, backend_ids)) == WordsOf(text)) return "";
  return absl::StrCat("the expected blob is not that of the expected program:\n", text);
}

}  // namespace

std::string CompareBesides(const Json& expected, const Json& came, const Concerns& concerns) {
  const Json::Array& delegates = expected["delegates"].array();
  const Json::Array& delegates_came = came["delegates"].array();
  Texts backends, backends_came;
  std::vector<std::string> backend_ids;
  for (const Json& delegate : delegates) {
    if (!concerns.fewer_delegates || HasNodes(delegate)) backends.insert(BackendText(delegate));
    backend_ids.push_back(delegate["backend_id"].text());
  }
  for (const Json& delegate : delegates_came) backends_came.insert(BackendText(delegate));
  std::string difference =
      CompareTexts("backends", backends, backends_came, concerns.more_delegates);
  if (!difference.empty()) return difference;
  for (size_t i = 0; i < delegates.size(); ++i) {
    difference = CheckRecording(delegates[i], backend_ids);
    if (!difference.empty()) return absl::StrCat("delegate ", i, ": ", difference);
  }
  bool all_equal = true;
  difference = CompareDelegates(delegates, delegates_came, &all_equal);
  if (!difference.empty()) return difference;
  for (const auto& [name, method] : expected["methods"].object()) {
    const Json& method_came = came["methods"][name];
    const std::string where = absl::StrCat("method ", name);
    difference = CompareTexts("inputs and outputs", UserBorder(method["signature"]),
                              UserBorder(method_came["signature"]));
    if (difference.empty() && !concerns.signature) {
      difference = FirstDifference(method["signature"], method_came["signature"], "signature");
    }
    if (difference.empty() && !concerns.constants) {
      difference = CompareState(method["state"], method_came["state"]);
    }
    if (!difference.empty()) return absl::StrCat(where, ", ", difference);
    all_equal = all_equal && CompareGraphs(method["graphs"], method_came["graphs"]).empty() &&
                method["signature"] == method_came["signature"];
  }
  difference = CompareTexts("tensors", NamesOf(expected), NamesOf(came));
  if (difference.empty() && !concerns.operators) {
    difference = CompareTexts("operators", OperatorsOf(expected), OperatorsOf(came));
    if (difference.empty() && expected.contains("partitions")) {
      difference = ComparePartitions(expected["partitions"].array(), came["partitions"].array());
    }
  }
  if (!difference.empty()) return difference;
  return all_equal ? "all graphs are as expected, so that this difference explains nothing" : "";
}

}  // namespace belay::conformance
