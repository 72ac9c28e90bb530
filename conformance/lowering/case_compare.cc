#include "conformance/lowering/case_compare.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/escaping.h"
#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::LoweredBackendModule;
using exir::MethodPrograms;

std::string TextOf(const exir::Storage& storage) {
  return std::string(reinterpret_cast<const char*>(storage.bytes.data()), storage.bytes.size());
}

// No tensor that nothing names is left behind, as ExecuTorch does when it copies constants (§7.5).
std::string CompareState(const Json& expected, const Json& came) {
  Json::Object wanted = expected.object();
  wanted["unreferenced_other"] = 0;
  return FirstDifference(wanted, came, ".state");
}

// A key that several delegates store is aligned for all of them; ExecuTorch aligns it for the first
// (§7.17).
Json AlignedForAll(const Json& merged, const Json::Array& delegates) {
  const auto align = [&](const Json& entries, const std::string& tag) {
    Json::Object aligned = entries.object();
    for (auto& [key, entry] : aligned) {
      int64_t alignment = entry["alignment"].number();
      for (const Json& delegate : delegates) {
        const Json& data = delegate["named_data"];
        const Json& own = tag.empty() ? data["pte"][key] : data["external"][tag][key];
        const int64_t wanted = own["alignment"].number();
        if (alignment > 0 && wanted > 0) alignment = std::lcm(alignment, wanted);
      }
      (*entry.get_if<Json::Object>())["alignment"] = alignment;
    }
    return aligned;
  };
  Json::Object result = merged.object();
  result["pte"] = align(merged["pte"], "");
  Json::Object external;
  for (const auto& [tag, entries] : merged["external"].object()) {
    external[tag] = align(entries, tag);
  }
  result["external"] = std::move(external);
  return result;
}

Json NamedData(const exir::NamedDataOutput& data) {
  const auto entries = [&](const absl::btree_map<std::string, exir::NamedDataEntry>& map) {
    Json::Object object;
    for (const auto& [key, entry] : map) {
      const auto bytes = data.buffers[entry.buffer].bytes;
      object[key] = Json::Object{{"buffer", entry.buffer},
                                 {"alignment", static_cast<int64_t>(entry.alignment)},
                                 {"size", bytes.size()},
                                 {"sha256", Sha256(bytes)}};
    }
    return object;
  };
  Json::Object external;
  for (const auto& [tag, map] : data.external_data) external[tag] = entries(map);
  return Json::Object{{"buffers", data.buffers.size()},
                      {"pte", entries(data.program_data)},
                      {"external", std::move(external)}};
}

std::string ComparePartitions(const Json::Array& wanted, const Proposals& proposals) {
  const auto normal = [](const Json::Array& partitions) {
    std::set<std::string> texts;
    for (const Json& partition : partitions) {
      Json::Object copy = partition.object();
      Json::Array nodes;
      for (const Json& node : partition["nodes"].array()) {
        if (node["op"].text() != "getitem") nodes.push_back(node);
      }
      copy["nodes"] = std::move(nodes);
      texts.insert(Json(copy).Dump());
    }
    return texts;
  };
  const std::set<std::string> expected = normal(wanted), came = normal(proposals);
  if (expected == came) return "";
  std::string text = "partitions: expected";
  for (const std::string& line : expected) absl::StrAppend(&text, " ", line);
  text += ", came";
  for (const std::string& line : came) absl::StrAppend(&text, " ", line);
  return text;
}

std::string KeyText(const exir::DelegateId& id) {
  const int64_t* number = std::get_if<int64_t>(&id);
  return number != nullptr ? absl::StrCat(*number) : std::get<std::string>(id);
}

}  // namespace

void CaseComparison::RecordHandles(const MethodPrograms& programs) {
  for (const auto& [name, program] : programs) {
    handles_[name];
    for (const auto& [path, id] : PathsOf(program)) {
      Json::Array split;
      for (size_t start = 0; start < path.size();) {
        const size_t end = std::min(path.find('>', start), path.size());
        split.push_back(path.substr(start, end - start));
        start = end + 1;
      }
      std::map<std::string, int64_t> count;
      const exir::Graph& graph = program.graphs[id];
      for (exir::NodeId node : NodesOf(graph)) {
        const std::string op = OpName(graph.node(node));
        const int64_t occurrence = count[op]++;
        if (graph.node(node).debug_handle == 0) continue;
        handles_[name][graph.node(node).debug_handle].push_back(
            Json::Object{{"graph", split}, {"op", op}, {"occurrence", occurrence}});
      }
    }
  }
}

NormalForm CaseComparison::Form(const ExportedProgram& program) const {
  return ToNormalForm(program, fqns_, [this](const LoweredBackendModule* module) {
    const auto it = index_.find(module);
    return it == index_.end() ? int64_t{-1} : it->second;
  });
}

std::string CaseComparison::Compare(const Json& expected, const MethodPrograms& programs,
                                    const Proposals& proposals) {
  NumberDelegates(programs);
  for (const auto& [name, program] : programs) {
    const std::string difference = CompareProgram(expected["methods"][name], program);
    if (!difference.empty()) return absl::StrCat("method ", name, difference);
  }
  if (expected["methods"].object().size() != programs.size()) {
    return "the number of methods differs";
  }
  const Json::Array& delegates = expected["delegates"].array();
  if (delegates.size() != modules_.size()) {
    return absl::StrCat("expected ", delegates.size(), " delegates, came ", modules_.size());
  }
  for (size_t i = 0; i < modules_.size(); ++i) {
    const std::string difference =
        CompareModule(delegates[i], *modules_[i], method_of_[modules_[i]]);
    if (!difference.empty()) return absl::StrCat("delegate ", i, ": ", difference);
  }
  if (expected.contains("partitions")) {
    const std::string difference = ComparePartitions(expected["partitions"].array(), proposals);
    if (!difference.empty()) return difference;
  }
  if (expected.contains("merged_named_data")) {
    const Json& wanted = expected["merged_named_data"];
    const absl::StatusOr<exir::NamedDataOutput> data = exir::CollectNamedData(programs);
    if (wanted.contains("error")) {
      return data.ok() ? absl::StrCat("expected ", wanted.Dump(), ", came merged data") : "";
    }
    if (!data.ok()) return data.status().ToString();
    return FirstDifference(AlignedForAll(wanted, delegates), NamedData(*data), "merged_named_data");
  }
  return "";
}

std::string CaseComparison::CompareWhole(const Json& expected, const LoweredBackendModule& module,
                                         const std::string& method) {
  std::string difference = CompareModule(expected, module, method);
  const NormalForm form = Form(module.original);
  if (difference.empty()) {
    difference = FirstDifference(expected["signature"], form.signature, "signature");
  }
  if (difference.empty()) difference = CompareState(expected["state"], form.state);
  return difference;
}

// In the order in which their results were made; those inside of delegates too.
void CaseComparison::NumberDelegates(const MethodPrograms& programs) {
  index_.clear();
  modules_.clear();
  std::map<int64_t, const LoweredBackendModule*> by_number;
  for (const auto& [name, program] : programs) {
    std::vector<const ExportedProgram*> pending = {&program};
    while (!pending.empty()) {
      const ExportedProgram& current = *pending.back();
      pending.pop_back();
      for (const auto& module : current.lowered_modules) {
        by_number[std::atoll(module->delegate_info.c_str())] = module.get();
        method_of_[module.get()] = name;
        pending.push_back(&module->original);
      }
    }
  }
  for (const auto& [number, module] : by_number) {
    index_[module] = static_cast<int64_t>(modules_.size());
    modules_.push_back(module);
  }
}

std::string CaseComparison::CompareProgram(const Json& expected,
                                           const ExportedProgram& program) const {
  const NormalForm form = Form(program);
  if (form.graphs.size() != expected["graphs"].object().size()) return ": number of graphs";
  for (const auto& [path, entries] : form.graphs) {
    const bool exact = order_is_known_ && expected["order"][path].text() == "exact";
    const std::string difference = CompareGraphs(expected["graphs"][path].array(), entries, exact);
    if (!difference.empty()) return absl::StrCat(", graph '", path, "'", difference);
  }
  std::string difference = FirstDifference(expected["signature"], form.signature, ".signature");
  if (difference.empty()) difference = CompareState(expected["state"], form.state);
  return difference;
}

std::string CaseComparison::CompareModule(const Json& expected, const LoweredBackendModule& module,
                                          const std::string& method) {
  if (expected["backend_id"].text() != module.backend_id) {
    return absl::StrCat("expected backend ", expected["backend_id"].text(), ", came ",
                        module.backend_id);
  }
  Json::Array specs;
  for (const exir::CompileSpec& spec : module.compile_specs) {
    specs.push_back(
        Json::Object{{"key", spec.key}, {"value_base64", absl::Base64Escape(spec.value)}});
  }
  std::string difference = FirstDifference(expected["compile_specs"], specs, "compile_specs");
  if (!difference.empty()) return difference;
  const NormalForm form = Form(module.original);
  const bool exact = !expected.contains("order") || expected["order"].text() == "exact";
  for (const auto& [path, entries] : form.graphs) {
    difference = CompareGraphs(expected["program"][path].array(), entries, exact);
    if (!difference.empty()) return absl::StrCat("program, graph '", path, "'", difference);
  }
  if (form.graphs.size() != expected["program"].object().size()) return "number of graphs";
  if (exact) {
    if (expected.contains("processed_text") &&
        expected["processed_text"].text() != TextOf(module.processed)) {
      return absl::StrCat("expected the blob\n", expected["processed_text"].text(), "came\n",
                          TextOf(module.processed));
    }
    if (expected.contains("processed_bytes_base64") &&
        expected["processed_bytes_base64"].text() != absl::Base64Escape(TextOf(module.processed))) {
      return absl::StrCat("expected the blob ", expected["processed_bytes_base64"].text(),
                          ", came ", absl::Base64Escape(TextOf(module.processed)));
    }
    if (expected.contains("processed_bytes_sha256") &&
        expected["processed_bytes_sha256"].text() != Sha256(module.processed.bytes)) {
      return "the digest of the blob differs";
    }
  }
  if (expected.contains("constants_owned")) {
    std::set<std::string> owned, wanted;
    for (const auto* map : {&module.original.state_dict, &module.original.constants}) {
      for (const auto& [name, tensor] : *map) {
        owned.insert(fqns_.contains(name) ? name : "sha256:" + TensorSha256(tensor));
      }
    }
    for (const Json& name : expected["constants_owned"].array()) wanted.insert(name.text());
    if (owned != wanted) return "the constants that it owns differ";
  }
  if (!expected["named_data"].is_null()) {
    difference =
        FirstDifference(expected["named_data"], NamedData(module.named_data), "named_data");
    if (!difference.empty()) return difference;
  } else if (!module.named_data.empty()) {
    return "named data came, none were expected";
  }
  return CompareDebugMap(expected["debug_handle_map"], module, method);
}

std::string CaseComparison::CompareDebugMap(const Json& expected,
                                            const LoweredBackendModule& module,
                                            const std::string& method) {
  std::map<std::string, std::set<std::string>> wanted, came;
  const auto handles = handles_.find(method);
  bool known = handles != handles_.end();
  if (known) {
    // Without a record of the edge program (`transform_and_lower`) the lists are empty.
    const Json::Object& nodes = expected["nodes"].object();
    known = nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [](const auto& entry) {
              return !entry.second.array().empty();
            });
  }
  if (known) {
    for (const auto& [key, nodes] : expected["nodes"].object()) {
      for (const Json& node : nodes.array()) {
        if (node["op"].text() != "getitem") wanted[key].insert(node.Dump());
      }
    }
    for (const auto& [id, list] : module.debug_handle_map) {
      for (int64_t handle : list) {
        for (const Json& node : handles->second[handle]) came[KeyText(id)].insert(node.Dump());
      }
    }
  } else {
    // How many handles each has.
    for (const auto& [key, list] : expected["raw"].object()) {
      wanted[key].insert(absl::StrCat(list.array().size()));
    }
    for (const auto& [id, list] : module.debug_handle_map) {
      came[KeyText(id)].insert(absl::StrCat(list.size()));
    }
  }
  if (!module.debug_handle_map.empty() && expected.contains("keys")) {
    const bool strings =
        std::holds_alternative<std::string>(module.debug_handle_map.begin()->first);
    if ((expected["keys"].text() == "string") != strings) return "the kind of ids differs";
  }
  if (wanted == came) return "";
  const auto show = [](const std::map<std::string, std::set<std::string>>& map) {
    std::string text;
    for (const auto& [key, nodes] : map) {
      absl::StrAppend(&text, key, ":");
      for (const std::string& node : nodes) absl::StrAppend(&text, " ", node);
      text += "; ";
    }
    return text;
  };
  return absl::StrCat("expected the debug map ", show(wanted), ", came ", show(came));
}

}  // namespace belay::conformance
