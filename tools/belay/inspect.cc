// `belay inspect`: what is in an archive or a program file.
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "exir/import/import.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/guards_to_assertions.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "runtime/schema/file_format.h"
#include "tools/belay/command.h"
#include "tools/belay/program_json.h"

namespace belay::tools {
namespace {

using nlohmann::json;

absl::StatusOr<int> InspectProgram(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(options.file));
  if (options.verify) ABSL_RETURN_IF_ERROR(VerifyDigests(program));
  ABSL_ASSIGN_OR_RETURN(const json out, ProgramJson(program));
  if (options.json) {
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::cout << options.file << ": program, " << program.bytes().size() << " bytes, by "
            << program.producer() << "\n";
  if (options.verify) std::cout << "  all digests match\n";
  for (const json& method : out["methods"]) {
    std::cout << "method " << method["name"].get<std::string>() << ": " << method["instructions"]
              << " instructions, arena " << method["arena_bytes"] << " bytes, state "
              << method["state_bytes"] << " bytes\n";
    for (const json& input : method["inputs"]) {
      std::cout << "  input " << input["name"].get<std::string>() << ": "
                << input["type"].get<std::string>() << "\n";
    }
    for (const json& output : method["outputs"])
      std::cout << "  output " << output.get<std::string>() << "\n";
    for (const auto& [op, count] : method["operators"].items())
      std::cout << "  " << count << " x " << op << "\n";
    for (const json& d : method["delegates"]) {
      std::cout << "  delegate " << d["backend"].get<std::string>() << ": " << d["bytes"]
                << " bytes\n";
    }
  }
  if (options.size) {
    for (const json& entry : out["size"]) {
      std::cout << "  " << entry["bytes"] << " bytes: " << entry["owner"].get<std::string>()
                << "\n";
    }
    std::cout << "  " << program.bytes().size() << " bytes in all (100 %)\n";
  }
  return kDone;
}

absl::StatusOr<int> InspectArchive(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram program, exir::ImportFile(options.file, *ops));
  if (options.graph) {
    std::cout << exir::PrintProgram(program);
    return kDone;
  }
  std::map<std::string, int> operators;
  size_t nodes = 0;
  for (const exir::Graph& graph : program.graphs) {
    for (exir::NodeId id : graph.nodes()) {
      const exir::OpOverload* target = graph.node(id).target;
      ++operators[target->known() ? target->text_name()
                                  : absl::StrCat(target->text_name(), " (unknown)")];
      ++nodes;
    }
  }
  json out{{"kind", "archive"},
           {"dialect", std::string(exir::IrDialectName(program.dialect))},
           {"nodes", nodes},
           {"graphs", program.graphs.size()},
           {"operators", operators}};
  uint64_t bytes = 0;
  for (const exir::ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (const auto& [name, tensor] : *map) bytes += tensor.view().nbytes();
  }
  out["constant_bytes"] = bytes;
  out["inputs"] = json::array();
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const exir::Value& value = program.top().value(program.top().inputs()[i]);
    out["inputs"].push_back(
        {{"name", value.name},
         {"kind", std::string(exir::InputKindName(program.signature.inputs[i].kind))},
         {"target", program.signature.inputs[i].target},
         {"type", exir::PrintType(value.type)}});
  }
  out["outputs"] = json::array();
  for (size_t i = 0; i < program.signature.outputs.size(); ++i) {
    out["outputs"].push_back(
        {{"kind", std::string(exir::OutputKindName(program.signature.outputs[i].kind))},
         {"target", program.signature.outputs[i].target},
         {"value", exir::PrintArgument(program.top(), program.top().outputs()[i])}});
  }
  // Guards that no program of it would check stay in what the pass leaves.
  exir::ExportedProgram checked = program.Clone();
  ABSL_RETURN_IF_ERROR(exir::GuardsToAssertions().run(checked).status());
  const absl::flat_hash_set<std::string_view> left(checked.guards.begin(), checked.guards.end());
  out["guards"] = json::array();
  for (const std::string& guard : program.guards)
    out["guards"].push_back({{"guard", guard}, {"checked", !left.contains(guard)}});
  if (options.json) {
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::cout << options.file << ": archive of the " << out["dialect"].get<std::string>()
            << " dialect, " << nodes << " nodes, " << bytes << " bytes of constants\n";
  for (const json& input : out["inputs"]) {
    std::cout << "  input " << input["name"].get<std::string>() << ": "
              << input["type"].get<std::string>() << " " << input["kind"].get<std::string>() << " "
              << input["target"].get<std::string>() << "\n";
  }
  for (const json& output : out["outputs"]) {
    std::cout << "  output " << output["value"].get<std::string>() << " "
              << output["kind"].get<std::string>() << " " << output["target"].get<std::string>()
              << "\n";
  }
  for (const json& guard : out["guards"]) {
    std::cout << "  guard " << guard["guard"].get<std::string>()
              << (guard["checked"].get<bool>() ? "\n" : " (can't be checked)\n");
  }
  for (const auto& [op, count] : operators) std::cout << "  " << count << " x " << op << "\n";
  return kDone;
}

absl::StatusOr<int> InspectAny(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.file));
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  if (bytes.substr(0, 5) == std::string_view(kMagic, 5)) return InspectProgram(options);
  return InspectArchive(options);
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const absl::StatusOr<int> status = InspectAny(options);
  if (status.ok()) return *status;
  std::cerr << "belay: " << options.file << "\n";
  return Report(status.status());
}

}  // namespace belay::tools
