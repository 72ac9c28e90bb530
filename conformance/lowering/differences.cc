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

// The module of a delegate, or a body, is an input of the partition that has the call.
bool AttributeUntagged(const Json&, const Json& expected) {
  return ErrorSays(expected, "is missing val field") && !ListOpened(Json(), expected);
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

// Whether an input of a delegate's program, or of a body, is a tuple.
bool TakesTuple(const Json& expected) {
  return Anywhere(expected, [](const Json& json) {
    return json["kind"].text() == "placeholder" && json["type"].get_if<Json::Array>() != nullptr;
  });
}

// {"node": 0, "out": [0, 1]}, or a node with several results as a whole. Where a result is tagged
// otherwise than its node, a tuple crosses, or ExecuTorch fails in one of several ways.
bool TupleCrosses(const Json& description, const Json& expected) {
  if (expected.contains("error")) {
    return AnyRound(description, [](const Json& round) {
      const Json::Array& tags = round["tags"].array();
      return std::any_of(tags.begin(), tags.end(),
                         [](const Json& tag) { return tag["op"].text() == "getitem"; });
    });
  }
  return Anywhere(expected,
                  [](const Json& json) {
                    return !json["out"].array().empty() &&
                           (json.contains("node") || json.contains("input"));
                  }) ||
         ReturnsTuple(expected) || TakesTuple(expected);
}

bool NoTupleCrosses(const Json&, const Json& came) { return !TupleCrosses(Json(), came); }

bool UserInputMutated(const Json&, const Json& expected) {
  return Anywhere(expected,
                  [](const Json& json) { return json["kind"].text() == "user_input_mutation"; }) ||
         Anywhere(expected,
                  [](const Json& json) { return json["op"].text() == "aten.copy_.default"; });
}

bool NoCopyIsLeft(const Json&, const Json& came) {
  return !Anywhere(came, [](const Json& json) {
    const std::string& op = json["op"].text();
    return op == "aten.copy.default" || op == "aten.copy_.default";
  });
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

bool WhileBodyHasDelegate(const Json&, const Json& came) {
  for (const auto& [name, method] : came["methods"].object()) {
    for (const auto& [path, entries] : method["graphs"].object()) {
      if (path.find("while_loop") == std::string::npos) continue;
      if (std::any_of(entries.array().begin(), entries.array().end(),
                      [](const Json& entry) { return entry["kind"].text() == "delegate"; })) {
        return true;
      }
    }
  }
  return false;
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

// Buffers that a delegate or a method writes, and of which there is one more copy: in a delegate,
// or in a method where a delegate writes.
std::set<std::string> MutatedBuffersInTwoPlaces(const Json& document) {
  std::map<std::string, int> in_delegates;
  std::set<std::string> in_methods, by_delegates, by_methods;
  const auto add_mutations = [](const Json& outputs, std::set<std::string>& mutated) {
    for (const Json& output : outputs.array()) {
      if (output["kind"].text() == "buffer_mutation") mutated.insert(output["target"].text());
    }
  };
  for (const Json& delegate : document["delegates"].array()) {
    for (const Json& fqn : delegate["constants_owned"].array()) ++in_delegates[fqn.text()];
    for (const auto& [path, entries] : delegate["program"].object()) {
      for (const Json& entry : entries.array()) add_mutations(entry["outputs"], by_delegates);
    }
  }
  for (const auto& [name, method] : document["methods"].object()) {
    for (const Json& input : method["signature"]["inputs"].array()) {
      if (input["kind"].text() == "buffer") in_methods.insert(input["target"].text());
    }
    add_mutations(method["signature"]["outputs"], by_methods);
  }
  std::set<std::string> buffers;
  for (const std::string& fqn : by_delegates) {
    if (in_delegates[fqn] > 1 || in_methods.contains(fqn)) buffers.insert(fqn);
  }
  for (const std::string& fqn : by_methods) {
    if (in_delegates[fqn] > 0) buffers.insert(fqn);
  }
  return buffers;
}

// ExecuTorch makes copies, of which one becomes stale, or takes the buffer from a program that
// still writes it.
bool MutatedBufferInTwoPlaces(const Json&, const Json& expected) {
  return !MutatedBuffersInTwoPlaces(expected).empty() ||
         ErrorSays(expected, "does not point to a buffer that exists");
}

// Each of them is an input of a method, which writes it, and no delegate has it.
bool BufferStays(const Json& expected, const Json& came) {
  for (const std::string& fqn : MutatedBuffersInTwoPlaces(expected)) {
    const auto is_of = [&](std::string_view kind) {
      return [&fqn, kind](const Json& spec) {
        return spec["target"].text() == fqn && spec["kind"].text() == kind;
      };
    };
    bool input = false, mutation = false;
    for (const auto& [name, method] : came["methods"].object()) {
      const Json::Array& inputs = method["signature"]["inputs"].array();
      const Json::Array& outputs = method["signature"]["outputs"].array();
      input = input || std::any_of(inputs.begin(), inputs.end(), is_of("buffer"));
      mutation = mutation || std::any_of(outputs.begin(), outputs.end(), is_of("buffer_mutation"));
    }
    if (!input || !mutation) return false;
    for (const Json& delegate : came["delegates"].array()) {
      const Json::Array& owned = delegate["constants_owned"].array();
      if (std::find(owned.begin(), owned.end(), Json(fqn)) != owned.end()) return false;
    }
  }
  return true;
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

bool NoConstantTwice(const Json&, const Json& came) { return !ConstantTwice(Json(), came); }

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
    {"§11.6",
     "a mutated buffer that a partition and others use stays with the program",
     "ConstantOwnershipTest.MutatedBufferWithAForeignReaderStays",
     "mutated_buffer_read_by_delegate",
     &MutatedBufferInTwoPlaces,
     absl::StatusCode::kOk,
     {.constants = true, .signature = true},
     &BufferStays},
    {"§7.5",
     "a delegate has a constant once, and the program too, however many users of it there are",
     "ConstantOwnershipTest.ConstantOfThreeTagsIsInEachOnceAndSharesBytes",
     "",
     &ConstantTwice,
     absl::StatusCode::kOk,
     {.signature = true},
     &NoConstantTwice},
    {"§11.3", "each used result of a node with several crosses by itself",
     "SpliceTest.OnlyUsedResultsOfASplitCross", "split_opened", &ListOpened},
    {"§2.8",
     "a call's bodies and its module go with it: they are no nodes that could be left untagged",
     "SpliceTest.SecondRoundKeepsOrSwallowsDelegates", "module_untagged", &AttributeUntagged},
    {"§11.3",
     "each used result of a node with several crosses by itself; results are no nodes that "
     "could be tagged",
     "SpliceTest.OnlyUsedResultsOfASplitCross",
     "getitem_tagged_alone topk_tuple_escapes",
     &TupleCrosses,
     absl::StatusCode::kOk,
     {.fewer_delegates = true},
     &NoTupleCrosses},
    {"§2.15",
     "the mutation of an input is an output of the program; the copy is made at emission",
     "InterpreterTest.MutatedInputsAreTheCallers",
     "user_input_mutation",
     &UserInputMutated,
     absl::StatusCode::kOk,
     {.fewer_delegates = true},
     &NoCopyIsLeft},
    {"§7.11",
     "bodies of while_loop are lowered like other bodies",
     "SpliceTest.WhileMapAndScanBodiesAreLowered",
     "while_body_not_lowered",
     &WhileBodyTagged,
     absl::StatusCode::kOk,
     {.more_delegates = true},
     &WhileBodyHasDelegate},
    {"§7.9",
     "a partitioner gets a const program: what it does to a copy of its own has no effect",
     "CasePartitionerTest.WhatItDoesToItsCopyHasNoEffect",
     "graph_dead_node_added graph_reordered graph_retargeted "
     "validation_disabled",
     &Tampered,
     absl::StatusCode::kOk,
     {.operators = true, .constants = true, .signature = true}},
    {"§2.25", "of groups that can't all be kept together, so many are as leave no cycle",
     "GroupsTest.GroupThatIsNotConvexIsGivenUp", "", &GroupOnACycle},
    {"§2.9", "a partition of which nothing is used is a call without results",
     "SpliceTest.PartitionOfWhichNothingIsUsedIsACallWithoutResults", "", &NothingUsed},
    {"§7.27",
     "what one of several partitioners asks to keep is kept",
     "ToEdgeTest.WhatOneOfSeveralPartitionersAsksForIsKept",
     "",
     &KeptForOneOfSeveral,
     absl::StatusCode::kOk,
     {.operators = true, .constants = true, .signature = true, .more_delegates = true}},
    {"§11.15", "a reply with more results than partitions is an error",
     "ReplyTest.WrongShapesAreErrorsOfTheirOwn", "", &SurplusReply, absl::StatusCode::kInternal},
};

}  // namespace

absl::Span<const Difference> Differences() { return kDifferences; }

}  // namespace belay::conformance
