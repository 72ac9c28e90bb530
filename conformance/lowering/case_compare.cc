#include "conformance/lowering/case_compare.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "conformance/lowering/compare_parts.h"
#include "conformance/lowering/recording_text.h"
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

bool IsBlob(const Json& expected, const exir::Storage& blob) {
  const std::string text = TextOf(blob);
  return (!expected.contains("processed_text") || expected["processed_text"].text() == text) &&
         (!expected.contains("processed_bytes_base64") ||
          expected["processed_bytes_base64"].text() == absl::Base64Escape(text)) &&
         (!expected.contains("processed_bytes_sha256") ||
          expected["processed_bytes_sha256"].text() == Sha256(blob.bytes));
}

Json GraphsOf(const NormalForm& form) {
  Json::Object graphs;
  for (const auto& [path, entries] : form.graphs) graphs[path] = entries;
  return graphs;
}

Json::Array SpecsOf(const LoweredBackendModule& module) {
  Json::Array specs;
  for (const exir::CompileSpec& spec : module.compile_specs) {
    specs.push_back(
        Json::Object{{"key", spec.key}, {"value_base64", absl::Base64Escape(spec.value)}});
  }
  return specs;
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
  if (expected["methods"].object().size() != programs.size()) {
    return absl::StrCat("expected ", expected["methods"].object().size(), " methods, came ",
                        programs.size());
  }
  for (const auto& [name, program] : programs) {
    if (!expected["methods"].contains(name)) return absl::StrCat("no method '", name, "' expected");
  }
  Reordered came;
  for (const auto& [name, program] : programs) came.form.methods[name] = GraphsOf(Form(program));
  for (const LoweredBackendModule* module : modules_) {
    came.numbers.push_back(came.numbers.size());
    came.changed.push_back(false);
    came.form.delegates.push_back({module->backend_id, SpecsOf(*module),
                                   GraphsOf(Form(module->original)),
                                   SourceText(SourcesOf(*module, method_of_[module]))});
  }
  std::string difference = CompareInOrder(expected, programs, came);
  const OpenOrder open = OpenOrderOf(expected);
  if (!difference.empty() && !open.empty() &&
      expected["delegates"].array().size() == modules_.size()) {
    came = InOrderOf(ExpectedForm(expected, programs), open, came.form);
    difference = CompareInOrder(expected, programs, came);
    if (difference.empty()) difference = came.wrong_order;
  }
  document_ = Document(programs, proposals, came);
  if (!difference.empty()) return difference;
  if (expected.contains("partitions")) {
    difference = ComparePartitions(expected["partitions"].array(), proposals);
    if (!difference.empty()) return difference;
  }
  if (!expected.contains("merged_named_data")) return "";
  const Json& wanted = expected["merged_named_data"];
  const absl::StatusOr<exir::NamedDataOutput> data = exir::CollectNamedData(programs);
  if (wanted.contains("error")) {
    return data.ok() ? absl::StrCat("expected ", wanted.Dump(), ", came merged data") : "";
  }
  if (!data.ok()) return data.status().ToString();
  const Json aligned = AlignedForAll(wanted, expected["delegates"].array());
  const Json merged = NamedData(*data);
  return came.any_moved() ? FirstDifference(WithoutBufferNumbers(aligned),
                                            WithoutBufferNumbers(merged), "merged_named_data")
                          : FirstDifference(aligned, merged, "merged_named_data");
}

Json CaseComparison::Document(const MethodPrograms& programs, const Proposals& proposals,
                              const Reordered& came) const {
  Json::Object methods;
  for (const auto& [name, program] : programs) {
    NormalForm form = Form(program);
    methods[name] = Json::Object{{"graphs", came.form.methods.at(name)},
                                 {"signature", std::move(form.signature)},
                                 {"state", std::move(form.state)}};
  }
  Json::Array delegates;
  for (size_t i = 0; i < modules_.size(); ++i) {
    delegates.push_back(
        ModuleDocument(*modules_[came.numbers[i]], came.form.delegates[i].graphs,
                       came.changed[i] ? RecordedInOrder(came.form, i) : std::nullopt));
  }
  return Json::Object{{"methods", std::move(methods)},
                      {"delegates", std::move(delegates)},
                      {"partitions", proposals}};
}

Json CaseComparison::ModuleDocument(const LoweredBackendModule& module, const Json& graphs,
                                    const std::optional<std::string>& recorded) const {
  const std::string text = recorded.value_or(TextOf(module.processed));
  Json::Array owned;
  for (const std::string& name : OwnedBy(module)) owned.push_back(name);
  return Json::Object{{"backend_id", module.backend_id},
                      {"compile_specs", SpecsOf(module)},
                      {"program", graphs},
                      {"processed_text", text},
                      {"processed_bytes_sha256", Sha256(text)},
                      {"constants_owned", std::move(owned)},
                      {"named_data", NamedData(module.named_data)}};
}

std::set<std::string> CaseComparison::OwnedBy(const LoweredBackendModule& module) const {
  std::set<std::string> owned;
  for (const auto* map : {&module.original.state_dict, &module.original.constants}) {
    for (const auto& [name, tensor] : *map) {
      owned.insert(fqns_.contains(name) ? name : "sha256:" + TensorSha256(tensor));
    }
  }
  return owned;
}

// The makers of a case that did not see the edge program take each order for the right one.
OpenOrder CaseComparison::OpenOrderOf(const Json& expected) const {
  const auto is_open = [&](const Json& order) {
    return !order_is_known_ || order.text() == "topological_only";
  };
  OpenOrder open;
  for (const auto& [name, method] : expected["methods"].object()) {
    for (const auto& [path, entries] : method["graphs"].object()) {
      if (is_open(method["order"][path])) open.graphs.emplace(name, path);
    }
  }
  const Json::Array& delegates = expected["delegates"].array();
  for (size_t i = 0; i < delegates.size(); ++i) {
    if (is_open(delegates[i]["order"])) open.delegates.insert(i);
  }
  return open;
}

LoweredForm CaseComparison::ExpectedForm(const Json& expected,
                                         const MethodPrograms& programs) const {
  LoweredForm form;
  for (const auto& [name, program] : programs) {
    form.methods[name] = NormalGraphs(expected["methods"][name]["graphs"]);
  }
  for (const Json& delegate : expected["delegates"].array()) {
    form.delegates.push_back({delegate["backend_id"].text(), delegate["compile_specs"],
                              NormalGraphs(delegate["program"]),
                              SourceText(ExpectedSources(delegate["debug_handle_map"]))});
  }
  return form;
}

std::string CaseComparison::CompareInOrder(const Json& expected, const MethodPrograms& programs,
                                           const Reordered& came) {
  for (const auto& [name, program] : programs) {
    const Json& method = expected["methods"][name];
    std::string difference = CompareGraphs(method["graphs"], came.form.methods.at(name));
    if (!difference.empty()) return absl::StrCat("method ", name, ", ", difference);
    const NormalForm form = Form(program);
    difference = FirstDifference(method["signature"], form.signature, ".signature");
    if (difference.empty()) difference = CompareState(method["state"], form.state);
    if (!difference.empty()) return absl::StrCat("method ", name, difference);
  }
  const Json::Array& delegates = expected["delegates"].array();
  if (delegates.size() != modules_.size()) {
    return absl::StrCat("expected ", delegates.size(), " delegates, came ", modules_.size());
  }
  // Blobs may list what is in another order: those that do are compared word by word.
  std::string wanted_text, text;
  for (size_t i = 0; i < delegates.size(); ++i) {
    const LoweredBackendModule& module = *modules_[came.numbers[i]];
    std::string difference = CompareModule(delegates[i], module, method_of_[&module],
                                           came.form.delegates[i].graphs, came.changed[i]);
    if (difference.empty() && !IsBlob(delegates[i], module.processed)) {
      difference = CompareBlob(delegates[i], module);
      if (came.any_moved() && module.backend_id == "RecordingBackend") {
        difference = CompareRecording(delegates[i], module, came.form, i);
      } else if (came.any_moved()) {
        difference = CompareDigest(delegates[i]);
        absl::StrAppend(&wanted_text, delegates[i]["processed_text"].text(), "\n");
        absl::StrAppend(&text, TextOf(module.processed), "\n");
      }
    }
    if (!difference.empty()) return absl::StrCat("delegate ", i, ": ", difference);
  }
  const std::vector<std::string> wanted_words = WordsOf(wanted_text), words = WordsOf(text);
  if (wanted_words == words) return "";
  const auto [wanted_word, word] =
      std::mismatch(wanted_words.begin(), wanted_words.end(), words.begin(), words.end());
  return absl::StrCat("the words of the blobs differ, sorted first in: expected ",
                      wanted_word == wanted_words.end() ? "no more" : *wanted_word, ", came ",
                      word == words.end() ? "no more" : *word);
}

std::optional<std::string> CaseComparison::RecordedInOrder(const LoweredForm& form,
                                                           size_t number) const {
  if (form.delegates[number].backend_id != "RecordingBackend") return std::nullopt;
  std::vector<std::string> backend_ids;
  for (const LoweredForm::Delegate& delegate : form.delegates) {
    backend_ids.push_back(delegate.backend_id);
  }
  return RecordingText(form.delegates[number].graphs, backend_ids);
}

// The blob says what the program was as it came; put in order, that is the expected blob.
std::string CaseComparison::CompareRecording(const Json& expected,
                                             const LoweredBackendModule& module,
                                             const LoweredForm& form, size_t number) const {
  if (TextOf(module.processed) != RecordingText(module.original, fqns_)) {
    return absl::StrCat("the blob is not that of its program:\n", TextOf(module.processed));
  }
  const std::string text = RecordedInOrder(form, number).value_or("");
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  if (IsBlob(expected, exir::Storage::Own({bytes, bytes + text.size()}))) return "";
  return absl::StrCat("expected the blob\n", expected["processed_text"].text(),
                      "came, in that order\n", text);
}

std::string CaseComparison::CompareWhole(const Json& expected, const LoweredBackendModule& module,
                                         const std::string& method) {
  const NormalForm form = Form(module.original);
  document_ = Json::Object{
      {"methods", Json::Object{{method, Json::Object{{"graphs", GraphsOf(form)},
                                                     {"signature", form.signature},
                                                     {"state", form.state}}}}},
      {"delegates", Json::Array{ModuleDocument(module, GraphsOf(form), std::nullopt)}}};
  std::string difference =
      CompareModule(expected, module, method, GraphsOf(form), /*changed=*/false);
  if (difference.empty()) difference = CompareBlob(expected, module);
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

std::string CaseComparison::CompareBlob(const Json& expected, const LoweredBackendModule& module) {
  if (IsBlob(expected, module.processed)) return "";
  if (expected.contains("processed_text")) {
    return absl::StrCat("expected the blob\n", expected["processed_text"].text(), "of digest ",
                        expected["processed_bytes_sha256"].text(), ", came\n",
                        TextOf(module.processed), "of digest ", Sha256(module.processed.bytes));
  }
  return absl::StrCat("expected the blob ", expected["processed_bytes_base64"].text(), ", came ",
                      absl::Base64Escape(TextOf(module.processed)));
}

std::string CaseComparison::CompareModule(const Json& expected, const LoweredBackendModule& module,
                                          const std::string& method, const Json& graphs,
                                          bool changed) {
  if (expected["backend_id"].text() != module.backend_id) {
    return absl::StrCat("expected backend ", expected["backend_id"].text(), ", came ",
                        module.backend_id);
  }
  std::string difference =
      FirstDifference(expected["compile_specs"], SpecsOf(module), "compile_specs");
  if (!difference.empty()) return difference;
  difference = CompareGraphs(expected["program"], graphs);
  if (!difference.empty()) return absl::StrCat("program, ", difference);
  if (expected.contains("constants_owned")) {
    std::set<std::string> wanted;
    const std::set<std::string> owned = OwnedBy(module);
    for (const Json& name : expected["constants_owned"].array()) wanted.insert(name.text());
    if (owned != wanted) return "the constants that it owns differ";
  }
  if (!expected["named_data"].is_null()) {
    const Json& wanted = expected["named_data"];
    const Json data = NamedData(module.named_data);
    difference = changed ? FirstDifference(WithoutBufferNumbers(wanted), WithoutBufferNumbers(data),
                                           "named_data")
                         : FirstDifference(wanted, data, "named_data");
    if (!difference.empty()) return difference;
  } else if (!module.named_data.empty()) {
    return "named data came, none were expected";
  }
  return CompareDebugMap(expected["debug_handle_map"], module, method, changed);
}

CaseComparison::Sources CaseComparison::ExpectedSources(const Json& map) {
  Sources sources;
  for (const auto& [key, nodes] : map["nodes"].object()) {
    for (const Json& node : nodes.array()) {
      if (node["op"].text() != "getitem") sources[key].insert(node.Dump());
    }
  }
  return sources;
}

CaseComparison::Sources CaseComparison::SourcesOf(const LoweredBackendModule& module,
                                                  const std::string& method) const {
  Sources sources;
  const auto handles = handles_.find(method);
  for (const auto& [id, list] : module.debug_handle_map) {
    for (int64_t handle : list) {
      if (handles == handles_.end() || !handles->second.contains(handle)) continue;
      for (const Json& node : handles->second.at(handle)) sources[KeyText(id)].insert(node.Dump());
    }
  }
  return sources;
}

std::string CaseComparison::SourceText(const Sources& sources) {
  std::set<std::string> all;
  for (const auto& [key, nodes] : sources) all.insert(nodes.begin(), nodes.end());
  std::string text;
  for (const std::string& node : all) absl::StrAppend(&text, node, " ");
  return text;
}

std::string CaseComparison::CompareDebugMap(const Json& expected,
                                            const LoweredBackendModule& module,
                                            const std::string& method, bool changed) {
  Sources wanted, came;
  bool known = handles_.contains(method);
  if (known) {
    // Without a record of the edge program (`transform_and_lower`) the lists are empty.
    const Json::Object& nodes = expected["nodes"].object();
    known = nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [](const auto& entry) {
              return !entry.second.array().empty();
            });
  }
  if (known) {
    wanted = ExpectedSources(expected);
    came = SourcesOf(module, method);
  } else {
    // How many handles each has.
    for (const auto& [key, list] : expected["raw"].object()) {
      wanted[key].insert(absl::StrCat(list.array().size()));
    }
    for (const auto& [id, list] : module.debug_handle_map) {
      came[KeyText(id)].insert(absl::StrCat(list.size()));
    }
  }
  const bool strings = !module.debug_handle_map.empty() &&
                       std::holds_alternative<std::string>(module.debug_handle_map.begin()->first);
  if (!module.debug_handle_map.empty() && expected.contains("keys") &&
      (expected["keys"].text() == "string") != strings) {
    return absl::StrCat("expected ids of kind ", expected["keys"].text(),
                        " in the debug map, came ", strings ? "string" : "int");
  }
  // Nodes are numbered in their order.
  const auto without_keys = [](const Sources& sources) {
    std::multiset<std::set<std::string>> lists;
    for (const auto& [key, nodes] : sources) lists.insert(nodes);
    return lists;
  };
  if (changed && !strings ? without_keys(wanted) == without_keys(came) : wanted == came) return "";
  const auto show = [](const Sources& map) {
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
