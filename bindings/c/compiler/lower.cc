#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "bindings/c/belay_compiler.h"
#include "bindings/c/compiler/compiler_handles.h"
#include "bindings/c/compiler/memory_file.h"
#include "bindings/c/execution.h"
#include "bindings/c/handles.h"
#include "exir/ir/refused_node.h"
#include "exir/pipeline.h"
#include "exir/serialize/saved_programs.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "tools/belay/command.h"
#include "tools/belay/converted_program.h"
#include "tools/belay/lower_page.h"
#include "tools/belay/lower_report.h"
#include "tools/belay/lowering.h"
#include "tools/belay/printing.h"
#include "tools/belay/quantize_report.h"
#include "tools/graph/draw_exported.h"

struct belay_lowered {
  std::string program, text, json, html;
};

namespace belay::c {

belay_status ReportRefusal(const absl::Status& status, belay_error** error) {
  const belay_status code = Report(status, error);
  if (code != BELAY_OK && error != nullptr && *error != nullptr) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const exir::RefusedNode& node : exir::RefusedNodesOf(status)) {
      nodes.push_back({{"method", node.method},
                       {"node", node.node},
                       {"operator", node.op},
                       {"source", node.source},
                       {"reason", node.reason}});
    }
    (*error)->nodes =
        nodes.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
  }
  return code;
}

absl::StatusOr<std::string> PathOf(const char* path, const void* bytes, size_t size,
                                   std::string_view name, MemoryFiles& files) {
  if (path != nullptr) return std::string(path);
  if (bytes == nullptr) return Missing(absl::StrCat("the path or bytes of ", name));
  return files.Add({static_cast<const std::byte*>(bytes), size}, name);
}

namespace {

absl::Status AddArchive(const belay_archive& archive, MemoryFiles& files,
                        tools::LowerOptions& options) {
  const std::string method = archive.method == nullptr ? "" : archive.method;
  if (absl::StrContains(method, '=')) {
    return absl::InvalidArgumentError(
        absl::StrCat("method: expected a name without '=', got '", tools::OneLine(method), "'"));
  }
  const std::string name = absl::StrCat("the archive of method '",
                                        method.empty() ? "forward" : tools::OneLine(method), "'");
  ABSL_ASSIGN_OR_RETURN(std::string path,
                        PathOf(archive.path, archive.bytes, archive.size, name, files));
  if (path.empty()) return absl::InvalidArgumentError("path: expected a file, got ''");
  if (archive.model != nullptr) absl::StrAppend(&path, ":", archive.model);
  if (archive.method != nullptr) {
    options.methods.push_back(absl::StrCat(method, "=", path));
  } else if (options.input.empty()) {
    options.input = path;
  } else {
    return absl::InvalidArgumentError("expected at most one archive without a method name, got 2");
  }
  return absl::OkStatus();
}

absl::StatusOr<tools::LowerOptions> OptionsOf(const belay_archive* archives, size_t num_archives,
                                              const belay_lower_options& known,
                                              MemoryFiles& files) {
  tools::LowerOptions options;
  if (num_archives > 0 && archives == nullptr) return Missing("archives");
  if (num_archives == 0) {
    return absl::InvalidArgumentError("expected at least one archive, got 0");
  }
  // Elements have the size of the caller's version.
  const size_t stride = archives->struct_size;
  for (size_t i = 0; i < num_archives; ++i) {
    const auto* given = reinterpret_cast<const belay_archive*>(
        reinterpret_cast<const std::byte*>(archives) + i * stride);
    ABSL_ASSIGN_OR_RETURN(const belay_archive archive, Known(given));
    ABSL_RETURN_IF_ERROR(AddArchive(archive, files, options));
  }
  if (known.format != nullptr) options.format = known.format;
  if (known.quantize != nullptr) options.quantize = known.quantize;
  ABSL_ASSIGN_OR_RETURN(options.calibration,
                        Strings(known.calibration, known.num_calibration, "calibration"));
  if (known.max_loss != nullptr) options.max_loss = known.max_loss;
  options.node_losses = known.node_losses != 0;
  if (known.tokenizer != nullptr) options.tokenizer = known.tokenizer;
  ABSL_ASSIGN_OR_RETURN(options.chat_template,
                        Strings(known.chat_templates, known.num_chat_templates, "chat_templates"));
  ABSL_ASSIGN_OR_RETURN(options.backends, Strings(known.backends, known.num_backends, "backends"));
  ABSL_ASSIGN_OR_RETURN(options.compile_specs,
                        Strings(known.compile_specs, known.num_compile_specs, "compile_specs"));
  ABSL_ASSIGN_OR_RETURN(options.max_size,
                        Strings(known.max_sizes, known.num_max_sizes, "max_sizes"));
  ABSL_ASSIGN_OR_RETURN(options.banks, Strings(known.banks, known.num_banks, "banks"));
  ABSL_ASSIGN_OR_RETURN(
      options.memory_planners,
      Strings(known.memory_planners, known.num_memory_planners, "memory_planners"));
  ABSL_ASSIGN_OR_RETURN(options.data,
                        Strings(known.data_files, known.num_data_files, "data_files"));
  ABSL_ASSIGN_OR_RETURN(
      options.constant_methods,
      Strings(known.constant_methods, known.num_constant_methods, "constant_methods"));
  constexpr int32_t kMostThreads = 1024;
  if (known.threads < 0 || known.threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads: expected 0 to ", kMostThreads, ", got ", known.threads));
  }
  options.threads = std::max(known.threads, 1);
  options.random_seed = known.random_seed;
  options.write_state_in_place = known.write_state_in_place != 0;
  options.no_fold_constants = known.no_fold_constants != 0;
  options.quant_fusion_and_const_prop = known.quant_fusion_and_const_prop != 0;
  if (known.limit_nodes != 0) options.limits.nodes = known.limit_nodes;
  if (known.limit_memory_bytes != 0) options.limits.memory = known.limit_memory_bytes;
  if (known.limit_work != 0) options.limits.work = known.limit_work;
  return options;
}

void SetEnd(const belay_lower_options& known, exir::LoweringLimits& limits) {
  if (known.timeout_ns != 0) limits.deadline = DeadlineAfter(known.timeout_ns);
  if (known.cancellation != nullptr) limits.cancel = &known.cancellation->cancelled;
}

void SetEndAndProgress(const belay_lower_options& known, exir::PipelineOptions& pipeline) {
  SetEnd(known, pipeline.limits);
  if (known.progress == nullptr) return;
  pipeline.progress = [&](std::string_view phase, double done) {
    known.progress(std::string(phase).c_str(), done, known.progress_context);
  };
}

// Returns the result without a page; `json` is the report.
absl::StatusOr<std::unique_ptr<belay_lowered>> Lowered(
    const exir::SerializedProgram& program, const exir::PipelineReport& report,
    const std::optional<tools::QuantizeReport>& quantized, const nlohmann::json& json) {
  std::unique_ptr<belay_lowered> lowered(new (std::nothrow) belay_lowered);
  if (lowered == nullptr) return NoMemory("a program");
  lowered->program = program.ToString();
  lowered->json = tools::JsonText(json);
  std::ostringstream text;
  if (quantized.has_value()) tools::PrintQuantizeReport(*quantized, text);
  tools::WriteLowerReport(report, program.size, "program", text);
  for (const std::string& note : report.notes) text << "note: " << tools::OneLine(note) << "\n";
  lowered->text = text.str();
  return lowered;
}

// Converts a program of ExecuTorch.
absl::StatusOr<std::unique_ptr<belay_lowered>> ConvertWith(const tools::LowerOptions& options,
                                                           const belay_lower_options& known) {
  exir::LoweringLimits limits = options.limits.ForLowering();
  SetEnd(known, limits);
  bool bad_usage = false;
  exir::PipelineReport report;
  ABSL_ASSIGN_OR_RETURN(const tools::ConvertedProgram converted,
                        tools::ConvertProgram(options, limits, report, bad_usage));
  return Lowered(converted.file, report, std::nullopt,
                 tools::LowerReportJson(report, converted.file.size));
}

absl::StatusOr<std::unique_ptr<belay_lowered>> LowerWith(const tools::LowerOptions& options,
                                                         const belay_lower_options& known) {
  if (tools::IsExecuTorchFile(options.input)) return ConvertWith(options, known);
  bool bad_usage = false;
  ABSL_ASSIGN_OR_RETURN(const auto lowering, tools::PrepareLowering(options, bad_usage));
  exir::PipelineOptions& pipeline = lowering->pipeline;
  SetEndAndProgress(known, pipeline);
  tools::DrawnProgram drawn;
  if (known.html != 0) {
    pipeline.after_to_backend = [&](const exir::MethodPrograms& methods) {
      for (const auto& [name, program] : methods)
        drawn.push_back(tools::DrawExported(name, program));
    };
  }
  exir::PipelineReport report;
  ABSL_ASSIGN_OR_RETURN(exir::MethodPrograms programs, ImportForLowering(*lowering, report));
  ABSL_ASSIGN_OR_RETURN(const std::optional<tools::QuantizeReport> quantized,
                        QuantizeForLowering(*lowering, programs, report));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(programs), pipeline, &report));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram serialized,
                        SerializeLowered(options, *lowering, image));
  if (!serialized.companions.empty()) {
    return absl::UnimplementedError(absl::StrCat("a backend stores data in the companion file '",
                                                 serialized.companions[0].name,
                                                 "': lower to a file with the belay command"));
  }
  nlohmann::json json = tools::LowerReportJson(report, serialized.size);
  if (quantized.has_value()) json["quantization"] = tools::QuantizeReportJson(*quantized);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<belay_lowered> lowered,
                        Lowered(serialized, report, quantized, json));
  if (known.html != 0) lowered->html = tools::LowerPage("program.belay", json, drawn, image);
  return lowered;
}

// Returns an error if an option is set that has an effect only on lowering.
absl::Status CheckForQuantizing(const belay_lower_options& known) {
  if (known.quantize == nullptr) return Missing("quantize, a recipe");
  const std::pair<std::string_view, bool> unused[] = {
      {"format", known.format != nullptr},
      {"compile_specs", known.num_compile_specs != 0},
      {"constant_methods", known.num_constant_methods != 0},
      {"banks", known.num_banks != 0},
      {"data_files", known.num_data_files != 0},
      {"memory_planners", known.num_memory_planners != 0},
      {"tokenizer", known.tokenizer != nullptr},
      {"chat_templates", known.num_chat_templates != 0},
      {"write_state_in_place", known.write_state_in_place != 0},
      {"no_fold_constants", known.no_fold_constants != 0},
      {"quant_fusion_and_const_prop", known.quant_fusion_and_const_prop != 0}};
  for (const auto& [name, is_set] : unused) {
    if (!is_set) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("belay_quantize: the option ", std::string(name), " is for belay_lower"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<belay_lowered>> QuantizeWith(const tools::LowerOptions& options,
                                                            const belay_lower_options& known) {
  ABSL_RETURN_IF_ERROR(CheckForQuantizing(known));
  bool bad_usage = false;
  ABSL_ASSIGN_OR_RETURN(const auto lowering,
                        tools::PrepareLowering(options, bad_usage, "quantize"));
  SetEndAndProgress(known, lowering->pipeline);
  exir::PipelineReport report;
  ABSL_ASSIGN_OR_RETURN(exir::MethodPrograms programs, ImportForLowering(*lowering, report));
  ABSL_ASSIGN_OR_RETURN(const std::optional<tools::QuantizeReport> quantized,
                        QuantizeForLowering(*lowering, programs, report, /*end=*/1));
  std::unique_ptr<belay_lowered> result(new (std::nothrow) belay_lowered);
  if (result == nullptr) return NoMemory("saved programs");
  result->program = exir::SavePrograms(programs, lowering->saved).ToString();
  const nlohmann::json json = tools::QuantizeReportJson(*quantized);
  result->json = tools::JsonText(json);
  std::ostringstream text;
  tools::PrintQuantizeReport(*quantized, text);
  result->text = text.str();
  if (known.html != 0) result->html = tools::QuantizePage("program.bir", json);
  return result;
}

using Function = absl::StatusOr<std::unique_ptr<belay_lowered>> (*)(const tools::LowerOptions&,
                                                                    const belay_lower_options&);

// Calls `function` with the options.
absl::StatusOr<std::unique_ptr<belay_lowered>> Process(const belay_archive* archives,
                                                       size_t num_archives,
                                                       const belay_lower_options* given,
                                                       Function function) {
  ABSL_ASSIGN_OR_RETURN(const belay_lower_options known, Known(given));
  MemoryFiles files;
  ABSL_ASSIGN_OR_RETURN(const tools::LowerOptions options,
                        OptionsOf(archives, num_archives, known, files));
  auto lowered = function(options, known);
  if (!lowered.ok()) return files.WithNames(lowered.status());
  return lowered;
}

belay_status Process(const belay_archive* archives, size_t num_archives,
                     const belay_lower_options* options, Function function, belay_lowered** result,
                     belay_error** error) {
  if (result == nullptr) return Report(Missing("an output pointer for the program"), error);
  auto created = Process(archives, num_archives, options, function);
  if (!created.ok()) return ReportRefusal(created.status(), error);
  *result = created->release();
  return BELAY_OK;
}

}  // namespace
}  // namespace belay::c

belay_status belay_lower(const belay_archive* archives, size_t num_archives,
                         const belay_lower_options* options, belay_lowered** lowered,
                         belay_error** error) {
  return belay::c::Process(archives, num_archives, options, belay::c::LowerWith, lowered, error);
}

belay_status belay_quantize(const belay_archive* archives, size_t num_archives,
                            const belay_lower_options* options, belay_lowered** quantized,
                            belay_error** error) {
  return belay::c::Process(archives, num_archives, options, belay::c::QuantizeWith, quantized,
                           error);
}

void belay_lowered_free(belay_lowered* lowered) { delete lowered; }
const void* belay_lowered_bytes(const belay_lowered* lowered) {
  return lowered == nullptr ? nullptr : lowered->program.data();
}
size_t belay_lowered_size(const belay_lowered* lowered) {
  return lowered == nullptr ? 0 : lowered->program.size();
}
const char* belay_lowered_report_text(const belay_lowered* lowered) {
  return lowered == nullptr ? "" : lowered->text.c_str();
}
const char* belay_lowered_report_json(const belay_lowered* lowered) {
  return lowered == nullptr ? "" : lowered->json.c_str();
}
const char* belay_lowered_report_html(const belay_lowered* lowered) {
  return lowered == nullptr ? "" : lowered->html.c_str();
}

const char* belay_backends(void) {
  static const std::string* const names = [] {
    auto* list = new std::string;
    for (const std::string_view name : belay::AotBackendNames()) {
      if (!list->empty()) list->push_back(',');
      list->append(name);
    }
    return list;
  }();
  return names->c_str();
}
