// `belay inspect`: what is in an archive or a program file.
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/import/import.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"
#include "runtime/schema/file_format.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using nlohmann::json;

std::string DescribeValue(const ValuePlan& value) {
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    return absl::StrCat(DTypeShortName(tensor->dtype), FormatSizes(tensor->sizes));
  }
  if (std::holds_alternative<ScalarKind>(value)) {
    switch (std::get<ScalarKind>(value)) {
      case ScalarKind::kInt:
        return "int";
      case ScalarKind::kDouble:
        return "float";
      case ScalarKind::kBool:
        return "bool";
    }
  }
  if (std::holds_alternative<None>(value)) return "None";
  if (std::holds_alternative<std::string>(value))
    return absl::StrCat("\"", std::get<std::string>(value), "\"");
  return "constant";
}

std::string_view SegmentName(SegmentPlan::Kind kind) {
  switch (kind) {
    case SegmentPlan::Kind::kConstants:
      return "constants";
    case SegmentPlan::Kind::kDelegate:
      return "delegate";
    case SegmentPlan::Kind::kNamedData:
      return "named_data";
    case SegmentPlan::Kind::kDebug:
      return "debug";
  }
  return "unknown";
}

// Every byte of the file by owner; the sizes add up to the file's.
std::vector<std::pair<std::string, uint64_t>> SizeByOwner(const Program& program) {
  std::vector<std::pair<std::string, uint64_t>> owners;
  owners.emplace_back("header", kHeaderBytes);
  owners.emplace_back("metadata", program.metadata_bytes());
  uint64_t padding = 0, at = kHeaderBytes + program.metadata_bytes();
  for (const SegmentPlan& segment : program.segments()) {
    if (!segment.companion.empty()) continue;
    padding += segment.offset - at;
    at = segment.offset + segment.bytes.size();
    std::string owner(SegmentName(segment.kind));
    if (segment.kind == SegmentPlan::Kind::kDelegate) {
      for (const MethodPlan& method : program.methods()) {
        for (const DelegatePlan& delegate : method.delegates) {
          if (delegate.blob.data() == segment.bytes.data())
            owner = absl::StrCat("delegate ", delegate.backend_id);
        }
      }
    }
    owners.emplace_back(std::move(owner), segment.bytes.size());
  }
  padding += program.bytes().size() - at;
  owners.emplace_back("padding", padding);
  return owners;
}

json MethodJson(const MethodPlan& method) {
  json out{{"name", method.name},
           {"arena_bytes", method.arena_bytes},
           {"state_bytes", method.state_bytes},
           {"instructions", method.instructions.size()}};
  out["inputs"] = json::array();
  for (const InputPlan& input : method.inputs) {
    json entry{{"name", input.name}, {"type", DescribeValue(method.values[input.value])}};
    if (input.mutated) entry["mutated"] = true;
    for (const SizeConstraint& c : input.constraints) {
      entry["constraints"].push_back({{"dim", c.dim},
                                      {"min", c.min},
                                      {"max", c.max},
                                      {"symbol", c.symbol},
                                      {"multiplier", c.multiplier},
                                      {"offset", c.offset}});
    }
    out["inputs"].push_back(std::move(entry));
  }
  out["outputs"] = json::array();
  for (uint32_t output : method.outputs)
    out["outputs"].push_back(DescribeValue(method.values[output]));
  std::map<std::string, int> calls;
  int delegate_calls = 0;
  for (const InstructionPlan& instruction : method.instructions) {
    if (const auto* call = std::get_if<KernelCallPlan>(&instruction))
      ++calls[method.operators[call->op]];
    if (std::holds_alternative<DelegateCallPlan>(instruction)) ++delegate_calls;
  }
  out["operators"] = calls;
  out["delegate_calls"] = delegate_calls;
  out["delegates"] = json::array();
  for (const DelegatePlan& delegate : method.delegates) {
    out["delegates"].push_back({{"backend", delegate.backend_id}, {"bytes", delegate.blob.size()}});
  }
  out["state"] = json::array();
  for (const StatePlan& state : method.state) {
    out["state"].push_back(
        {{"name", state.name}, {"type", DescribeValue(method.values[state.value])}});
  }
  return out;
}

absl::StatusOr<int> InspectProgram(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(options.file));
  if (options.verify) ABSL_RETURN_IF_ERROR(VerifyDigests(program));
  json out{{"kind", "program"},
           {"producer", program.producer()},
           {"format", absl::StrCat(kFormatMajor, ".", kFormatMinor)},
           {"file_bytes", program.bytes().size()}};
  out["methods"] = json::array();
  for (const MethodPlan& method : program.methods()) out["methods"].push_back(MethodJson(method));
  out["named_data"] = json::array();
  for (const NamedDataPlan& data : program.named_data()) {
    out["named_data"].push_back({{"key", data.key}, {"bytes", data.bytes.size()}});
  }
  out["size"] = json::array();
  uint64_t total = 0;
  for (const auto& [owner, bytes] : SizeByOwner(program)) {
    out["size"].push_back({{"owner", owner}, {"bytes", bytes}});
    total += bytes;
  }
  if (total != program.bytes().size()) {
    return absl::InternalError(
        absl::StrCat("the owners' bytes add up to ", total, " of ", program.bytes().size()));
  }
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
    std::cout << "  " << total << " bytes in all (100 %)\n";
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
