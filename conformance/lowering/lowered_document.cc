#include "conformance/lowering/lowered_document.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "conformance/lowering/program_json.h"
#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::LoweredBackendModule;

Json NamedDataJson(const exir::NamedDataOutput& data) {
  const auto entries = [&](const absl::btree_map<std::string, exir::NamedDataEntry>& map) {
    Json json = Json::object();
    for (const auto& [key, entry] : map) {
      const auto bytes = data.buffers[entry.buffer].bytes;
      json[key] = {{"buffer", entry.buffer},
                   {"alignment", entry.alignment},
                   {"size", bytes.size()},
                   {"sha256", Sha256(bytes)}};
    }
    return json;
  };
  Json external = Json::object();
  for (const auto& [file, map] : data.external_data) external[file] = entries(map);
  return {{"buffers", data.buffers.size()},
          {"pte", entries(data.program_data)},
          {"external", std::move(external)}};
}

Json DebugMapJson(const exir::DebugHandleMap& map, const std::map<int64_t, Json>& places) {
  Json json = {{"keys", "int"}, {"raw", Json::object()}, {"nodes", Json::object()}};
  for (const auto& [id, handles] : map) {
    const int64_t* number = std::get_if<int64_t>(&id);
    const std::string key = number == nullptr ? std::get<std::string>(id) : absl::StrCat(*number);
    if (number == nullptr) json["keys"] = "string";
    json["raw"][key] = handles;
    Json& nodes = json["nodes"][key] = Json::array();
    for (int64_t handle : handles) {
      const auto at = places.find(handle);
      for (const Json& node : at == places.end() ? Elements(Json()) : at->second)
        nodes.push_back(node);
    }
  }
  return json;
}

Json DelegateJson(const LoweredBackendModule& module, const std::string& method,
                  const DocumentSource& source, const DelegateIndex& index) {
  Json specs = Json::array(), owned = Json::array();
  for (const exir::CompileSpec& spec : module.compile_specs) {
    specs.push_back({{"key", spec.key}, {"value_base64", absl::Base64Escape(spec.value)}});
  }
  for (const auto* map : {&module.original.state_dict, &module.original.constants}) {
    for (const auto& [name, tensor] : *map) {
      owned.push_back(source.fqns.contains(name) ? name : "sha256:" + TensorSha256(tensor));
    }
  }
  const auto places = source.handles.find(method);
  const std::map<int64_t, Json> none;
  const auto bytes = module.processed.bytes;
  const std::string blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {
      {"backend_id", module.backend_id},
      {"compile_specs", std::move(specs)},
      {"processed_bytes_base64", absl::Base64Escape(blob)},
      {"program", ProgramJson(module.original, source.fqns, index)["graphs"]},
      {"constants_owned", std::move(owned)},
      {"named_data", NamedDataJson(module.named_data)},
      {"debug_handle_map", DebugMapJson(module.debug_handle_map,
                                        places == source.handles.end() ? none : places->second)}};
}

}  // namespace

HandlePlaces HandlesOf(const exir::MethodPrograms& programs) {
  HandlePlaces handles;
  for (const auto& [name, program] : programs) {
    for (const auto& [path, id] : PathsOf(program)) {
      for (const auto& [node, place] : PlacesOf(program.graphs[id])) {
        const int64_t handle = program.graphs[id].node(node).debug_handle;
        if (handle == 0) continue;
        Json& places = handles[name][handle];
        places.push_back({{"graph", SplitPath(path)}});
        places.back().update(place);
      }
    }
  }
  return handles;
}

Json LoweredDocument(const exir::MethodPrograms& programs, const DocumentSource& source) {
  std::map<int64_t, std::pair<const LoweredBackendModule*, std::string>> made;  // with its method
  for (const auto& [name, program] : programs) {
    std::vector<const exir::ExportedProgram*> pending = {&program};
    while (!pending.empty()) {
      const exir::ExportedProgram& current = *pending.back();
      pending.pop_back();
      for (const auto& module : current.lowered_modules) {
        made[std::atoll(module->delegate_info.c_str())] = {module.get(), name};
        pending.push_back(&module->original);
      }
    }
  }
  std::map<const LoweredBackendModule*, int64_t> indices;
  for (const auto& [number, module] : made) indices.emplace(module.first, indices.size());
  const DelegateIndex index = [&](const LoweredBackendModule& module) {
    return indices.at(&module);
  };
  Json document = {{"methods", Json::object()}, {"delegates", Json::array()}};
  for (const auto& [name, program] : programs) {
    document["methods"][name] = ProgramJson(program, source.fqns, index);
  }
  for (const auto& [number, module] : made) {
    document["delegates"].push_back(DelegateJson(*module.first, module.second, source, index));
  }
  const absl::StatusOr<exir::NamedDataOutput> data = exir::CollectNamedData(programs);
  document["merged_named_data"] =
      data.ok() ? NamedDataJson(*data) : Json{{"error", {{"message", data.status().ToString()}}}};
  return document;
}

Json ModuleDocument(const LoweredBackendModule& module, const std::string& method,
                    const DocumentSource& source) {
  const DelegateIndex none = [](const LoweredBackendModule&) { return int64_t{-1}; };
  Json json = DelegateJson(module, method, source, none);
  json.update(ProgramJson(module.original, source.fqns, none));
  json.erase("constants_owned");  // what `state` says
  return ModuleDocument(json, method);
}

Json ModuleDocument(const Json& lowered_module, const std::string& method) {
  Json document = {{"delegates", Json::array({lowered_module})}};
  document["methods"][method] = {{"graphs", Json::object()},
                                 {"signature", Member(lowered_module, "signature")},
                                 {"state", Member(lowered_module, "state")}};
  return document;
}

}  // namespace belay::conformance
