#include "conformance/lowering/differences.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/escaping.h"

namespace belay::conformance {
namespace {

bool ErrorSays(const Json& expected, std::string_view fragment) {
  return expected["error"]["message"].text().find(fragment) != std::string::npos;
}

template <class Predicate>
bool AnyRound(const Json& description, Predicate predicate) {
  const Json::Array& rounds = description["rounds"].array();
  return std::any_of(rounds.begin(), rounds.end(), predicate);
}

// Whether some value in the document satisfies the predicate.
template <class Predicate>
bool Anywhere(const Json& json, const Predicate& predicate) {
  if (predicate(json)) return true;
  for (const Json& element : json.array()) {
    if (Anywhere(element, predicate)) return true;
  }
  for (const auto& [key, element] : json.object()) {
    if (Anywhere(element, predicate)) return true;
  }
  return false;
}

// At gather, ExecuTorch finds users of a tagged constant that it did not give a copy: the output,
// and nodes with the constant in a list.
bool ConstantWithHiddenUser(const Json& description, const Json& expected) {
  return expected["error"]["stage"].text() == "gather" &&
         ErrorSays(expected, "constant data node") && !AnyRound(description, [](const Json& round) {
           return !round["no_copy"].array().empty();
         });
}

bool MutationAlsoReturned(const Json&, const Json& expected) {
  return ErrorSays(expected, "found to also contain a buffer mutation");
}

bool ListOpened(const Json&, const Json& expected) {
  return ErrorSays(expected, "getitem is missing val field");
}

// Whether a delegate's program returns a node with several results as a whole.
bool ReturnsTuple(const Json& expected) {
  for (const Json& delegate : expected["delegates"].array()) {
    const Json::Array& entries = delegate["program"][""].array();
    for (const Json& output : entries.empty() ? Json::Array() : entries.back()["outputs"].array()) {
      const Json& value = output["value"];
      if (!value.contains("node") || value.contains("out")) continue;
      if (std::any_of(entries.begin(), entries.end(), [&](const Json& entry) {
            return entry.contains("id") && entry["id"] == value["node"] &&
                   entry["type"].get_if<Json::Array>() != nullptr;
          })) {
        return true;
      }
    }
  }
  return false;
}

// {"node": 0, "out": [0, 1]}, or a node with several results as a whole.
bool TupleCrosses(const Json& description, const Json& expected) {
  return Anywhere(expected,
                  [](const Json& json) {
                    return !json["out"].array().empty() &&
                           (json.contains("node") || json.contains("input"));
                  }) ||
         ReturnsTuple(expected) || AnyRound(description, [](const Json& round) {
           const Json::Array& tags = round["tags"].array();
           return std::any_of(tags.begin(), tags.end(),
                              [](const Json& tag) { return tag["op"].text() == "getitem"; });
         });
}

bool UserInputMutated(const Json&, const Json& expected) {
  return Anywhere(expected,
                  [](const Json& json) { return json["kind"].text() == "user_input_mutation"; }) ||
         Anywhere(expected,
                  [](const Json& json) { return json["op"].text() == "aten.copy_.default"; });
}

bool WhileBodyTagged(const Json& description, const Json& expected) {
  return Anywhere(expected, [](const Json& json) { return json["op"].text() == "while_loop"; }) &&
         AnyRound(description, [](const Json& round) {
           const Json::Array& tags = round["tags"].array();
           return std::any_of(tags.begin(), tags.end(),
                              [](const Json& tag) {
                                const Json::Array& path = tag["graph"].array();
                                return std::any_of(path.begin(), path.end(), [](const Json& part) {
                                  return part.text().starts_with("while_loop");
                                });
                              }) ||
                  round["kind"].text() != "tags";
         });
}

bool Tampered(const Json& description, const Json&) {
  return AnyRound(description, [](const Json& round) { return round.contains("tamper"); });
}

bool SurplusReply(const Json& description, const Json&) {
  return AnyRound(description, [](const Json& round) {
    return Anywhere(round, [](const Json& json) {
      std::string value;
      return json["key"].text() == "reply" &&
             absl::Base64Unescape(json["value_base64"].text(), &value) && value == "long_list";
    });
  });
}

// A buffer that one delegate writes, and of which another or the program itself has a copy.
bool MutatedBufferInTwoPlaces(const Json&, const Json& expected) {
  std::map<std::string, int> owners;
  std::set<std::string> mutated;
  for (const Json& delegate : expected["delegates"].array()) {
    for (const Json& fqn : delegate["constants_owned"].array()) ++owners[fqn.text()];
    for (const auto& [path, entries] : delegate["program"].object()) {
      for (const Json& entry : entries.array()) {
        for (const Json& output : entry["outputs"].array()) {
          if (output["kind"].text() == "buffer_mutation") mutated.insert(output["target"].text());
        }
      }
    }
  }
  for (const auto& [name, method] : expected["methods"].object()) {
    for (const Json& input : method["signature"]["inputs"].array()) {
      if (input["kind"].text() == "buffer") ++owners[input["target"].text()];
    }
  }
  return std::any_of(mutated.begin(), mutated.end(),
                     [&](const std::string& fqn) { return owners[fqn] > 1; });
}

bool NamesAConstantTwice(const Json& graph) {
  std::set<std::string> seen;
  for (const Json& entry : graph.array()) {
    if (entry["kind"].text() != "placeholder" || !entry.contains("target")) continue;
    // Tensors without a name are described by their content, and several may have the same.
    if (entry["target"].get_if<std::string>() == nullptr) continue;
    if (!seen.insert(entry["target"].text()).second) return true;
  }
  return false;
}

// One constant as two inputs of a delegate's program, or of what the method becomes: a copy for
// each user.
bool ConstantTwice(const Json&, const Json& expected) {
  for (const Json& delegate : expected["delegates"].array()) {
    if (NamesAConstantTwice(delegate["program"][""])) return true;
  }
  for (const auto& [name, method] : expected["methods"].object()) {
    if (NamesAConstantTwice(method["graphs"][""])) return true;
  }
  return false;
}

// A partition of which nothing is used.
bool NothingUsed(const Json&, const Json& expected) {
  return expected["error"]["stage"].text() == "fuse" &&
         ErrorSays(expected, "Cannot determine insertion point");
}

// An operator that one partitioner of several asks to keep and another does not: ExecuTorch
// decomposes once for each of them, so what the first keeps, the next decomposes.
bool KeptForOneOfSeveral(const Json& description, const Json&) {
  if (description["entry"].text() != "transform_and_lower") return false;
  const Json::Array& rounds = description["rounds"].array();
  return std::any_of(rounds.begin(), rounds.end(), [&](const Json& round) {
    const Json::Array& ops = round["ops_to_not_decompose"].array();
    return std::any_of(ops.begin(), ops.end(), [&](const Json& op) {
      return std::any_of(rounds.begin(), rounds.end(), [&](const Json& other) {
        const Json::Array& others = other["ops_to_not_decompose"].array();
        return std::find(others.begin(), others.end(), op) == others.end() ||
               !(other["filter"] == round["filter"]);
      });
    });
  });
}

// A group of nodes that can't be one partition: a way leaves it, or several of them, and comes
// back.
bool GroupOnACycle(const Json& description, const Json& expected) {
  return ErrorSays(expected, "found dependency cycles") &&
         AnyRound(description, [](const Json& round) { return round["kind"].text() == "groups"; });
}

bool ErasedMutation(const Json&, const Json& expected) {
  return expected["error"]["stage"].text() == "splice";
}

constexpr Difference kDifferences[] = {
    {"§7.5", "a constant that is returned or stands in a list is given to the delegate and kept",
     "ConstantOwnershipTest.ConstantThatIsReturnedIsNoError",
     "constant_in_list_argument param_returned", &ConstantWithHiddenUser},
    {"§10", "a mutated value may be returned as well",
     "ConstantOwnershipTest.MutatedValueMayBeReturnedAndUsedOutside", "mutation_also_returned",
     &MutationAlsoReturned},
    {"§11.6", "a consumed mutation's new value may be used outside",
     "ConstantOwnershipTest.MutatedValueMayBeReturnedAndUsedOutside", "", &ErasedMutation},
    {"§11.6", "a mutated buffer that a partition and others use stays with the program",
     "ConstantOwnershipTest.MutatedBufferWithAForeignReaderStays", "", &MutatedBufferInTwoPlaces},
    {"§7.5",
     "a delegate has a constant once, and the program too, however many users of it there are",
     "ConstantOwnershipTest.ConstantOfThreeTagsIsInEachOnceAndSharesBytes", "", &ConstantTwice},
    {"§11.3", "each used result of a node with several crosses by itself",
     "SpliceTest.OnlyUsedResultsOfASplitCross", "split_opened", &ListOpened},
    {"§11.3",
     "each used result of a node with several crosses by itself; results are no nodes that "
     "could be tagged",
     "SpliceTest.OnlyUsedResultsOfASplitCross", "getitem_tagged_alone topk_tuple_escapes",
     &TupleCrosses},
    {"§2.15", "the mutation of an input is an output of the program; the copy is made at emission",
     "InterpreterTest.MutatedInputsAreTheCallers", "user_input_mutation", &UserInputMutated},
    {"§7.11", "bodies of while_loop are lowered like other bodies",
     "SpliceTest.WhileMapAndScanBodiesAreLowered", "while_body_not_lowered", &WhileBodyTagged},
    {"§7.9", "a partitioner gets a const program: what it does to a copy of its own has no effect",
     "CasePartitionerTest.WhatItDoesToItsCopyHasNoEffect",
     "graph_dead_node_added graph_reordered graph_retargeted "
     "validation_disabled",
     &Tampered},
    {"§2.25", "of groups that can't all be kept together, so many are as leave no cycle",
     "GroupsTest.GroupThatIsNotConvexIsGivenUp", "", &GroupOnACycle},
    {"§2.9", "a partition of which nothing is used is a call without results",
     "SpliceTest.PartitionOfWhichNothingIsUsedIsACallWithoutResults", "", &NothingUsed},
    {"§7.27", "what one of several partitioners asks to keep is kept",
     "ToEdgeTest.WhatOneOfSeveralPartitionersAsksForIsKept", "", &KeptForOneOfSeveral},
    {"§11.15", "a reply with more results than partitions is an error",
     "ReplyTest.WrongShapesAreErrorsOfTheirOwn", "", &SurplusReply, absl::StatusCode::kInternal},
};

}  // namespace

absl::Span<const Difference> Differences() { return kDifferences; }

}  // namespace belay::conformance
