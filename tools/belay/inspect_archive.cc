#include "tools/belay/inspect_archive.h"

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/import/byte_budget.h"
#include "exir/import/zip_reader.h"
#include "exir/ir/text.h"
#include "exir/model_file.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/bound_data_sizes.h"
#include "exir/passes/guards_to_assertions.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "tools/belay/inspect_graph.h"
#include "tools/belay/printing.h"
#include "tools/graph/draw_exported.h"

namespace belay::tools {
namespace {

using exir::ArchiveInfo;
using nlohmann::json;

// --- Content ---

// The sizes add up to the file size.
json SizeByOwner(const ArchiveInfo& info) {
  json owners = json::array();
  uint64_t rest = info.file_bytes;
  for (const ArchiveInfo::Entry& entry : info.entries) {
    json owner{{"owner", entry.name}, {"bytes", entry.bytes_in_file}};
    if (entry.bytes != entry.bytes_in_file) owner["inflated_bytes"] = entry.bytes;
    owners.push_back(std::move(owner));
    rest -= entry.bytes_in_file;  // entries do not overlap
  }
  owners.push_back({{"owner", "headers, directory and padding"}, {"bytes", rest}});
  return owners;
}

// Reads every entry and compares its checksum. Returns the number of entries without a checksum.
absl::StatusOr<uint64_t> VerifyEntries(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  const exir::ImportOptions options = exir::OptionsForArchive({}, bytes.size());
  const auto verify = [&]() -> absl::StatusOr<uint64_t> {
    ABSL_ASSIGN_OR_RETURN(
        const exir::ZipReader zip,
        exir::ZipReader::Open(exir::Storage{std::move(file), bytes}, options.max_zip_entries));
    uint64_t unknown = 0;
    for (const exir::ZipReader::Entry& entry : zip.entries()) {
      ABSL_RETURN_IF_ERROR(CheckBudget());
      exir::ByteBudget inflated("max_inflated_bytes", options.max_inflated_bytes);
      ABSL_RETURN_IF_ERROR(zip.Read(entry, inflated, /*verify_checksum=*/true).status());
      unknown += entry.crc32 == 0 && entry.size > 0 ? 1 : 0;
    }
    return unknown;
  };
  absl::StatusOr<uint64_t> unknown = verify();
  if (unknown.ok()) return unknown;
  return Annotate(Printable(unknown.status()), path);
}

json HeaderJson(const ArchiveInfo::Model& model) {
  json out{{"name", model.name},
           {"era", model.era},
           {"torch_version", model.torch_version},
           {"verifiers", model.verifiers},
           {"opset", json::object()}};
  if (model.schema_major > 0) {  // saved programs have no schema version
    out["schema"] = absl::StrCat(model.schema_major, ".", model.schema_minor);
  }
  for (const auto& [name, version] : model.opset) out["opset"][name] = version;
  return out;
}

absl::Status AddProgramJson(const exir::ExportedProgram& program, json& out) {
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
  out["dialect"] = std::string(exir::IrDialectName(program.dialect));
  out["nodes"] = nodes;
  out["graphs"] = program.graphs.size();
  out["operators"] = operators;
  uint64_t bytes = 0;
  for (const exir::ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (const auto& [name, tensor] : *map) bytes += tensor.view().nbytes();
  }
  out["constant_bytes"] = bytes;
  out["ranges"] = json::object();
  exir::ExportedProgram bounded = program.Clone();
  ABSL_RETURN_IF_ERROR(exir::BoundDataSizes().run(bounded).status());
  for (const auto& [symbol, range] : bounded.ranges) {
    const auto bound = [](int64_t value, bool is_bound) { return is_bound ? json(value) : json(); };
    out["ranges"][symbol] = {bound(range.min, range.min != exir::SymRange::kUnboundedBelow),
                             bound(range.max, range.max != exir::SymRange::kUnboundedAbove)};
  }
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
  // Guards that the lowered program does not check are those that the pass leaves.
  exir::ExportedProgram checked = program.Clone();
  ABSL_RETURN_IF_ERROR(exir::GuardsToAssertions().run(checked).status());
  const absl::flat_hash_set<std::string_view> left(checked.guards.begin(), checked.guards.end());
  out["guards"] = json::array();
  for (const std::string& guard : program.guards)
    out["guards"].push_back({{"guard", guard}, {"checked", !left.contains(guard)}});
  return absl::OkStatus();
}

// A model of an archive and its description.
struct DescribedModel {
  absl::StatusOr<exir::ExportedProgram> program;
  json description;
  absl::Status status;  // of importing and describing it
};

// Imports the model and describes it. If this fails, the description has the error.
DescribedModel DescribeModel(exir::ModelReader& reader, const std::string& path,
                             const ArchiveInfo::Model& header) {
  exir::ImportOptions import;
  import.model_name = header.name;
  DescribedModel model;
  model.description = HeaderJson(header);
  model.program = reader.Import(path, import);
  model.status = model.program.status();
  if (model.status.ok()) model.status = AddProgramJson(*model.program, model.description);
  if (!model.status.ok()) {
    model.description["error"] = std::string(FromAbsl(model.status.message()));
  }
  return model;
}

// Describes everything but the models.
absl::StatusOr<json> DescribeFile(const ArchiveInfo& info, const std::string& path) {
  // Reading saved programs always verifies their digests.
  ABSL_ASSIGN_OR_RETURN(const bool saved, exir::IsSavedProgramsFile(path));
  return json{{"kind", saved ? "saved programs" : "archive"},
              {"file_bytes", info.file_bytes},
              {"size", SizeByOwner(info)},
              {"models", json::array()}};
}

// --- Printing ---

std::string Text(const json& text) { return OneLine(text.get<std::string>()); }

void PrintHeader(const json& model) {
  std::cout << "model " << Text(model["name"]) << ": " << Text(model["era"]);
  if (model.contains("schema")) std::cout << ", schema " << Text(model["schema"]);
  if (!model["torch_version"].get<std::string>().empty()) {
    std::cout << ", torch " << Text(model["torch_version"]);
  }
  for (const json& verifier : model["verifiers"]) std::cout << ", " << Text(verifier);
  for (const auto& [name, version] : model["opset"].items()) {
    std::cout << ", " << OneLine(name) << " " << version;
  }
  std::cout << "\n";
}

void PrintModel(const json& model) {
  std::cout << "  " << Text(model["dialect"]) << " dialect, " << model["nodes"] << " nodes, "
            << model["constant_bytes"] << " bytes of constants\n";
  for (const json& input : model["inputs"]) {
    std::cout << "  input " << Text(input["name"]) << ": " << Text(input["type"]) << " "
              << Text(input["kind"]) << " " << Text(input["target"]) << "\n";
  }
  for (const json& output : model["outputs"]) {
    std::cout << "  output " << Text(output["value"]) << " " << Text(output["kind"]) << " "
              << Text(output["target"]) << "\n";
  }
  for (const auto& [symbol, range] : model["ranges"].items()) {
    std::cout << "  size " << OneLine(symbol) << ": ";
    if (!range[0].is_null()) std::cout << "from " << range[0] << " ";
    std::cout << (range[1].is_null() ? "without an upper bound" : "to " + range[1].dump()) << "\n";
  }
  for (const json& guard : model["guards"]) {
    std::cout << "  guard " << Text(guard["guard"])
              << (guard["checked"].get<bool>() ? "\n" : " (can't be checked)\n");
  }
  for (const auto& [op, count] : model["operators"].items())
    std::cout << "  " << count << " x " << OneLine(op) << "\n";
}

void PrintSizes(const json& sizes, uint64_t file_bytes) {
  for (const json& entry : sizes) {
    std::cout << "  " << entry["bytes"] << " bytes: " << Text(entry["owner"]);
    if (entry.contains("inflated_bytes")) {
      std::cout << " (" << entry["inflated_bytes"] << " inflated)";
    }
    std::cout << "\n";
  }
  std::cout << "  " << file_bytes << " bytes in total (100 %)\n";
}

}  // namespace

absl::StatusOr<json> ArchiveJson(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const ArchiveInfo info, exir::InspectModelFile(path));
  ABSL_ASSIGN_OR_RETURN(json out, DescribeFile(info, path));
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  exir::ModelReader reader(*ops);
  for (const ArchiveInfo::Model& header : info.models) {
    out["models"].push_back(DescribeModel(reader, path, header).description);
  }
  return out;
}

absl::Status InspectArchive(const InspectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const ArchiveInfo info, exir::InspectModelFile(options.file));
  ABSL_ASSIGN_OR_RETURN(json out, DescribeFile(info, options.file));
  uint64_t without_checksum = 0;
  if (options.verify && out["kind"] == "archive") {
    ABSL_ASSIGN_OR_RETURN(without_checksum, VerifyEntries(options.file));
  }
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  // The text form of a single program can be parsed again, so it is printed without headings.
  const bool headings =
      !options.json && (!options.graph || options.size || options.verify || info.models.size() > 1);
  if (headings) {
    std::cout << OneLine(options.file) << ": " << Text(out["kind"]) << ", " << info.file_bytes
              << " bytes, " << info.models.size()
              << (info.models.size() == 1 ? " model\n" : " models\n");
    if (options.verify) {
      std::cout << "  all checksums match";
      if (without_checksum > 0)
        std::cout << " (" << without_checksum << " entries have no checksum)";
      std::cout << "\n";
    }
  }
  absl::Status first_error;
  exir::ModelReader reader(*ops);
  DrawnProgram drawn;
  for (const ArchiveInfo::Model& header : info.models) {
    auto [program, model, status] = DescribeModel(reader, options.file, header);
    if (status.ok() && WantsGraph(options)) drawn.push_back(DrawExported(header.name, *program));
    first_error.Update(status);
    if (!options.json) {
      if (headings) PrintHeader(model);
      if (!status.ok()) {
        std::cout << "  can't be imported\n";
      } else if (options.graph) {
        std::cout << ForTerminal(exir::PrintProgram(*program));
      } else {
        PrintModel(model);
      }
    } else if (options.graph && program.ok()) {
      model["graph"] = exir::PrintProgram(*program);
    }
    out["models"].push_back(std::move(model));
  }
  if (options.json) {
    std::cout << JsonText(out);
  } else if (options.size) {
    PrintSizes(out["size"], info.file_bytes);
  }
  return first_error.ok() ? WriteGraphs(options, drawn) : first_error;
}

}  // namespace belay::tools
