#include "conformance/lowering/case_format.h"

#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_join.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using Words = std::set<std::string>;

// Goes through a document and keeps the first problem.
class Checker {
 public:
  const absl::Status& status() const { return status_; }

  void Case(const Json& json) {
    Fields(json, "the case",
           {"name", "shows", "entry", "methods", "to_edge", "pt2_decomposed", "after", "rounds",
            "inner", "whole", "outer"});
    Word(json["entry"], "entry", {"manager", "transform_and_lower", "compose"});
    Fields(json["to_edge"], "to_edge", {"check_ir_validity", "skip_dim_order"});
    for (const auto& [method, files] : json["after"].object()) {
      if (!json["methods"].contains(method)) {
        Problem(absl::StrCat("unknown method '", method, "' in after"));
      }
    }
    Fields(json["whole"], "whole", {"kind", "backend_id", "compile_specs"});
    Specs(json["whole"]["compile_specs"], "whole");
    Each(json["rounds"], "rounds",
         [this](const Json& round, const std::string& where) { Round(round, where); });
  }

  void Round(const Json& round, const std::string& where) {
    const std::string& kind = round["kind"].text();
    if (kind == "tags") {
      TagRound(round, where);
    } else if (kind == "all_nodes") {
      Fields(round, where,
             {"kind", "backend_id", "compile_specs", "methods", "validation_disabled"});
    } else if (kind == "whole_program") {
      Fields(round, where, {"kind", "backend_id", "compile_specs"});
    } else if (kind == "op_support" || kind == "groups" || kind == "capability") {
      Fields(round, where,
             {"kind", "ops", "groups", "backend_id", "compile_specs", "constants", "tag_prefix",
              "ops_to_not_decompose", "filter", "allows_single_node_partition", "non_compute_ops",
              "allowed_single_node_partition_ops", "methods", "validation_disabled"});
      if (round.contains("filter") && !round["filter"].is_null()) {
        Fields(round["filter"], where + ".filter", {"kind", "value"});
        Word(round["filter"]["kind"], where + ".filter", {"bias_present", "last_dim_at_least"});
      }
      Each(round["groups"], where + ".groups", [this](const Json& group, const std::string& place) {
        EachHas(group, place, {"graph", "op", "occurrence"});
      });
      Constants(round["constants"], where + ".constants");
    } else if (kind == "demo") {
      Fields(round, where, {"kind", "name", "methods", "validation_disabled"});
    } else {
      Word(round["kind"], where + ".kind",
           {"tags", "all_nodes", "whole_program", "op_support", "groups", "capability", "demo"});
    }
    Specs(round["compile_specs"], where);
  }

  void Expected(const Json& json) {
    Fields(json, "the expectation",
           {"error", "methods", "delegates", "partitions", "merged_named_data",
            "source_graph_changed", "source_state_changed", "single_program_entry",
            "lowered_module", "composed", "after_rounds"});
    Error(json["error"], "error");
    Lowered(json, "");
    for (const char* part : {"composed", "after_rounds"}) {
      Fields(json[part], part, {"methods", "delegates", "partitions", "merged_named_data"});
      Lowered(json[part], absl::StrCat(part, "."));
    }
    for (const auto& [method, change] : json["source_state_changed"].object()) {
      Fields(change, "source_state_changed." + method,
             {"removed", "removed_made_by_to_edge", "added"});
    }
    const Json& single = json["single_program_entry"];
    Fields(single, "single_program_entry", {"differs_in", "result"});
    if (single.get_if<std::string>() != nullptr) Word(single, "single_program_entry", {"same"});
    const Json& module = json["lowered_module"];
    Fields(module, "lowered_module",
           {"backend_id", "compile_specs", "processed_bytes_sha256", "processed_text",
            "processed_bytes_base64", "program", "signature", "state", "named_data",
            "debug_handle_map"});
    Module(module, "lowered_module");
    Border(module, "lowered_module");
  }

 private:
  void Problem(const std::string& text) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(text);
  }

  void Fields(const Json& json, const std::string& where, const Words& known) {
    for (const auto& [key, value] : json.object()) {
      if (!known.contains(key)) {
        Problem(absl::StrCat("unknown field '", key, "' in ", where, "; there are ",
                             absl::StrJoin(known, ", ")));
      }
    }
  }

  void Word(const Json& json, const std::string& where, const Words& known) {
    if (known.contains(json.text())) return;
    Problem(absl::StrCat("unknown word '", json.text(), "' as ", where, "; there are ",
                         absl::StrJoin(known, ", ")));
  }

  template <class Check>
  void Each(const Json& list, const std::string& where, const Check& check) {
    for (size_t i = 0; i < list.array().size(); ++i) {
      check(list.array()[i], absl::StrCat(where, "[", i, "]"));
    }
  }

  void EachHas(const Json& list, const std::string& where, const Words& known) {
    Each(list, where,
         [&](const Json& element, const std::string& place) { Fields(element, place, known); });
  }

  // --- case.json ---

  void TagRound(const Json& round, const std::string& where) {
    Fields(round, where,
           {"kind", "tags", "constants", "no_copy", "tag_order", "specs", "methods", "tamper",
            "return_no_tags", "validation_disabled"});
    Each(round["tags"], where + ".tags", [this](const Json& tag, const std::string& place) {
      if (tag.contains("user_input")) return Fields(tag, place, {"method", "user_input", "tag"});
      if (tag.contains("output")) return Fields(tag, place, {"method", "output", "tag"});
      Fields(tag, place, {"method", "graph", "op", "occurrence", "tag", "with_attrs"});
    });
    Constants(round["constants"], where + ".constants");
    for (const auto& [tag, spec] : round["specs"].object()) {
      const std::string place = absl::StrCat(where, ".specs.", tag);
      Fields(spec, place, {"backend_id", "compile_specs", "methods"});
      Specs(spec["compile_specs"], place);
    }
    for (const Json& tag : round["tag_order"].array()) {
      if (!round["specs"].contains(tag.text())) {
        Problem(absl::StrCat("tag '", tag.text(), "' of ", where, ".tag_order has no specs"));
      }
    }
    if (!round.contains("tamper")) return;
    const std::string place = where + ".tamper";
    Fields(
        round["tamper"], place,
        {"action", "graph", "op", "occurrence", "arg", "value", "before_op", "before_occurrence"});
    Word(round["tamper"]["action"], place + ".action",
         {"retarget", "literal", "kwarg", "swap_args", "add_dead_node", "rewire_output",
          "move_before", "meta"});
  }

  void Constants(const Json& constants, const std::string& where) {
    EachHas(constants, where, {"fqn", "lifted", "tag", "no_copy", "method"});
    if (constants.get_if<std::string>() != nullptr) {
      Word(constants, where, {"auto", "auto+mutated", "none"});
    }
  }

  void Specs(const Json& specs, const std::string& where) {
    EachHas(specs, where + ".compile_specs", {"key", "value_base64"});
  }

  // --- expected.json ---

  void Error(const Json& error, const std::string& where) {
    Fields(error, where, {"python_class", "message", "stage"});
    if (error.is_null()) return;
    Word(error["stage"], where + ".stage",
         {"to_edge", "partition", "validate_partition", "duplicate_constants", "gather", "fuse",
          "build_subprogram", "preprocess", "lower_backend", "splice", "merge_named_data",
          "check_not_decomposed", "to_backend"});
  }

  void Lowered(const Json& json, const std::string& in) {
    for (const auto& [name, method] : json["methods"].object()) {
      const std::string where = absl::StrCat(in, "methods.", name);
      Fields(method, where, {"order", "graphs", "signature", "state"});
      for (const auto& [path, order] : method["order"].object()) {
        Word(order, where + ".order", {"exact", "topological_only"});
        if (!method["graphs"].contains(path)) {
          Problem(absl::StrCat("the graph '", path, "' of ", where, ".order is not there"));
        }
      }
      Graphs(method["graphs"], where + ".graphs");
      Border(method, where);
    }
    Each(json["delegates"], in + "delegates", [this](const Json& d, const std::string& where) {
      Fields(d, where,
             {"index", "backend_id", "compile_specs", "locations", "order", "processed_text",
              "processed_bytes_base64", "processed_bytes_sha256", "program", "constants_owned",
              "named_data", "debug_handle_map"});
      EachHas(d["locations"], where + ".locations", {"method", "graph", "slot", "inside_delegate"});
      if (d.contains("order")) Word(d["order"], where + ".order", {"exact", "topological_only"});
      Module(d, where);
    });
    Each(json["partitions"], in + "partitions", [this](const Json& p, const std::string& where) {
      Fields(p, where, {"method", "graph", "tag", "nodes"});
      EachHas(p["nodes"], where + ".nodes", {"op", "occurrence"});
    });
    const Json& merged = json["merged_named_data"];
    if (merged.contains("error")) {
      Fields(merged, in + "merged_named_data", {"error"});
      Error(merged["error"], in + "merged_named_data.error");
    } else {
      NamedData(merged, in + "merged_named_data");
    }
  }

  void Module(const Json& module, const std::string& where) {
    Specs(module["compile_specs"], where);
    Graphs(module["program"], where + ".program");
    NamedData(module["named_data"], where + ".named_data");
    const Json& map = module["debug_handle_map"];
    const std::string place = where + ".debug_handle_map";
    Fields(map, place, {"keys", "raw", "nodes"});
    if (!map.is_null()) Word(map["keys"], place + ".keys", {"int", "string"});
    for (const auto& [key, nodes] : map["nodes"].object()) {
      EachHas(nodes, absl::StrCat(place, ".nodes.", key), {"graph", "op", "occurrence"});
    }
  }

  void NamedData(const Json& data, const std::string& where) {
    const Words entry = {"buffer", "alignment", "size", "sha256"};
    Fields(data, where, {"buffers", "pte", "external"});
    for (const auto& [key, stored] : data["pte"].object()) Fields(stored, where + ".pte", entry);
    for (const auto& [file, entries] : data["external"].object()) {
      for (const auto& [key, stored] : entries.object()) {
        Fields(stored, where + ".external", entry);
      }
    }
  }

  void Border(const Json& json, const std::string& where) {
    const Json& signature = json["signature"];
    Fields(signature, where + ".signature", {"inputs", "outputs"});
    EachHas(signature["inputs"], where + ".signature.inputs",
            {"kind", "index", "target", "persistent"});
    EachHas(signature["outputs"], where + ".signature.outputs", {"kind", "target"});
    Fields(json["state"], where + ".state",
           {"state_dict", "constants", "made_by_to_edge", "unreferenced", "unreferenced_other"});
  }

  void Graphs(const Json& graphs, const std::string& where) {
    for (const auto& [path, entries] : graphs.object()) {
      Each(entries, absl::StrCat(where, ".'", path, "'"),
           [this](const Json& entry, const std::string& place) { Entry(entry, place); });
    }
  }

  void Entry(const Json& entry, const std::string& where) {
    const std::string& kind = entry["kind"].text();
    if (kind == "placeholder") {
      Fields(entry, where, {"kind", "input", "index", "target", "persistent", "type"});
    } else if (kind == "getitem") {
      Fields(entry, where, {"kind", "of"});
    } else if (kind == "output") {
      Fields(entry, where, {"kind", "outputs", "args"});
      EachHas(entry["outputs"], where + ".outputs", {"kind", "target", "value"});
    } else {
      Word(entry["kind"], where + ".kind",
           {"placeholder", "op", "control", "delegate", "getitem", "output"});
      Words known = {"kind", "id", "op", "args", "kwargs", "type", "debug_handle"};
      if (kind == "control") known.insert("graphs");
      if (kind == "delegate") known.insert({"delegate", "slot"});
      Fields(entry, where, known);
    }
    Type(entry["type"], where + ".type");
  }

  void Type(const Json& type, const std::string& where) {
    Each(type, where, [this](const Json& t, const std::string& place) { Type(t, place); });
    Fields(type, where, {"dtype", "shape", "symint", "sym", "scalar"});
  }

  absl::Status status_;
};

}  // namespace

absl::Status CheckCaseFormat(const Json& description) {
  Checker checker;
  checker.Case(description);
  return checker.status();
}

absl::Status CheckExpectedFormat(const Json& expected) {
  Checker checker;
  checker.Expected(expected);
  return checker.status();
}

absl::Status CheckRoundFormat(const Json& round) {
  Checker checker;
  checker.Round(round, "a round");
  return checker.status();
}

}  // namespace belay::conformance
