#include "tools/belay/lowering.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "executorch/writer/portable_passes.h"
#include "executorch/writer/program_serializer.h"
#include "exir/constant_rules.h"
#include "exir/emit/emitter.h"
#include "exir/ops/standard_ops.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/llm/tokenizer/write_tokenizer_tables.h"
#include "runtime/schema/companion_name.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/chat_template_files.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/memory_banks.h"
#include "tools/belay/printing.h"
#include "tools/belay/tokenizer_file.h"

namespace belay::tools {
namespace {

bool IsPte(const LowerOptions& options) {
  if (!options.format.empty()) return options.format == "pte";
  return absl::EndsWith(options.output, ".pte");
}

// Methods without a --backend are delegated to cpu if Belay runs the program. ExecuTorch has none
// of Belay's backends.
std::vector<std::string> BackendsOf(const LowerOptions& options) {
  std::vector<std::string> backends = options.backends;
  const bool for_all = std::any_of(backends.begin(), backends.end(), [](const std::string& text) {
    return text.find(':') == std::string::npos;
  });
  if (!for_all) backends.push_back(IsPte(options) ? "none" : "cpu");
  return backends;
}

// Parses NAME=VALUE of --constant-method; VALUE is JSON, a list for several values.
absl::StatusOr<std::pair<std::string, std::vector<exir::Argument>>> ParseConstantMethod(
    const std::string& text) {
  const size_t equals = text.find('=');
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--constant-method: expected NAME=VALUE with a number, true, false, a "
                     "\"string\" or a [list] of them, got '",
                     OneLine(text), "'"));
  };
  if (equals == 0 || equals == std::string::npos || !IsUtf8(text)) return bad();
  const auto json = nlohmann::json::parse(text.substr(equals + 1), nullptr, false);
  std::vector<exir::Argument> values;
  for (const auto& value : json.is_array() ? json : nlohmann::json::array({json})) {
    if (value.is_boolean()) {
      values.emplace_back(value.get<bool>());
    } else if (value.is_number_integer() && !value.is_number_unsigned()) {
      values.emplace_back(value.get<int64_t>());
    } else if (value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX) {
      values.emplace_back(static_cast<int64_t>(value.get<uint64_t>()));
    } else if (value.is_number_float()) {
      values.emplace_back(value.get<double>());
    } else if (value.is_string()) {
      values.emplace_back(value.get<std::string>());
    } else {
      return bad();
    }
  }
  if (values.empty()) return bad();
  return std::make_pair(text.substr(0, equals), std::move(values));
}

absl::Status CheckFormat(const LowerOptions& options) {
  if (!options.format.empty() && options.format != "belay" && options.format != "pte") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: expected 'belay' or 'pte', got '", OneLine(options.format), "'"));
  }
  return absl::OkStatus();
}

// The values of --external-constants.
struct ExternalConstants {
  std::string others;  // the file of constants without a rule; "": the program file
  std::vector<exir::ConstantRules::File> rules;
};

// Parses [PATTERN=]NAME.
absl::StatusOr<ExternalConstants> ParseExternalConstants(const LowerOptions& options) {
  ExternalConstants external;
  for (const std::string& text : options.external_constants) {
    const size_t equals = text.rfind('=');
    const std::string tag = equals == std::string::npos ? text : text.substr(equals + 1);
    // A digest of 32 digits is appended.
    const std::string name = absl::StrCat(tag, "-", std::string(32, '0'), ".data");
    if (tag.empty() || equals == 0 || !IsUtf8(text) || !IsCompanionName(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--external-constants: expected [PATTERN=]NAME with a prefix for a file name, without "
          "folders, in UTF-8, got '",
          OneLine(text), "'"));
    }
    if (equals != std::string::npos) {
      external.rules.push_back({text.substr(0, equals), tag});
    } else if (external.others.empty()) {
      external.others = tag;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--external-constants: two files for constants without a rule: '",
                       OneLine(external.others), "' and '", OneLine(tag), "'"));
    }
  }
  return external;
}

// Finds the recipe, and checks the options that depend on it.
absl::Status SetQuantization(const LowerOptions& options, bool& bad_usage, Lowering& lowering) {
  if (options.quantize.empty()) {
    if (options.calibration.empty() && options.max_loss.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        options.calibration.empty() ? "--max-loss" : "--calibration", " needs --quantize"));
  }
  if (options.stage == "aten") {
    return absl::InvalidArgumentError("--quantize changes edge programs, after the stage 'aten'");
  }
  if (!options.max_loss.empty()) {
    const absl::StatusOr<exir::MaxLoss> max_loss = exir::ParseMaxLoss(options.max_loss);
    if (!max_loss.ok()) return Annotate(max_loss.status(), "--max-loss");
    lowering.max_loss = *max_loss;
  }
  lowering.node_losses = options.node_losses;
  ABSL_ASSIGN_OR_RETURN(lowering.recipe, ChooseRecipe(options.quantize, options.calibration,
                                                      lowering.max_loss.has_value() ? "--max-loss"
                                                      : options.node_losses ? "--node-losses"
                                                                            : "",
                                                      bad_usage));
  ABSL_ASSIGN_OR_RETURN(lowering.calibration,
                        ParseCalibration(options.calibration, lowering.methods));
  return absl::OkStatus();
}

using NamedStorages = std::vector<std::pair<std::string, exir::Storage>>;

// Replaces the data of this key by a copy of the bytes, or adds it.
void Set(std::string_view key, absl::Span<const std::byte> bytes, NamedStorages& data) {
  exir::Storage value = exir::Storage::Own({bytes.begin(), bytes.end()});
  for (auto& [name, storage] : data) {
    if (name != key) continue;
    storage = std::move(value);
    return;
  }
  data.emplace_back(key, std::move(value));
}

// Adds the tables of a tokenizer, or the document if it has none.
absl::Status AddTokenizer(const exir::Storage& json, exir::NamedDataStore& data) {
  const absl::StatusOr<std::string> tables = llm::WriteTokenizerTables(AsString(json.bytes));
  if (!tables.ok()) return data.Add(llm::kTokenizerKey, json);
  const absl::Span<const std::byte> bytes = AsBytes(*tables);
  exir::NamedDataOptions options;
  options.alignment = alignof(uint32_t);
  return data.Add(llm::kTokenizerTablesKey, exir::Storage::Own({bytes.begin(), bytes.end()}),
                  options);
}

// Reads the tokenizer and the chat templates of the options, and adds all named data to the
// program.
absl::Status AddNamedData(const LowerOptions& options, Lowering& lowering) {
  NamedStorages& data = lowering.saved.named_data;
  if (!options.tokenizer.empty()) {
    ABSL_ASSIGN_OR_RETURN(const TokenizerFile read, ReadTokenizerFile(options.tokenizer));
    Set(llm::kTokenizerKey, read.file->bytes(), data);
  }
  if (!options.chat_template.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string json, ReadChatTemplateFiles(options.chat_template));
    Set(llm::kChatTemplateKey, AsBytes(json), data);
  }
  for (const auto& [key, storage] : data) {
    if (key == llm::kTokenizerKey) {
      ABSL_RETURN_IF_ERROR(AddTokenizer(storage, lowering.named_data));
    } else {
      ABSL_RETURN_IF_ERROR(lowering.named_data.Add(key, storage));
    }
  }
  if (!data.empty()) lowering.pipeline.emit.named_data = &lowering.named_data.output();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Lowering>> PrepareLowering(const LowerOptions& options,
                                                          bool& bad_usage,
                                                          const std::string& command) {
  bad_usage = false;
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> saved, SavedMethods(options.input));
  auto lowering = std::make_unique<Lowering>();
  if (!saved.empty()) {
    ABSL_ASSIGN_OR_RETURN(lowering->saved, exir::ReadSavedLoweringOptions(options.input));
  }
  ABSL_ASSIGN_OR_RETURN(lowering->ops, exir::CreateStandardOps());
  bad_usage = true;
  ABSL_ASSIGN_OR_RETURN(lowering->methods,
                        MethodsOf(command, options.input, options.methods, saved));
  ABSL_RETURN_IF_ERROR(SetQuantization(options, bad_usage, *lowering));
  ABSL_RETURN_IF_ERROR(CheckFormat(options));
  if (!options.data.empty()) {
    return absl::InvalidArgumentError(
        "--data: expected an ExecuTorch program (.pte) as the input, got an archive");
  }
  ABSL_ASSIGN_OR_RETURN(ExternalConstants external, ParseExternalConstants(options));
  lowering->pipeline.constants = {std::move(external.rules), options.replaceable};
  lowering->external_constants = std::move(external.others);
  if (options.stage == "parameters" && options.replaceable.empty()) {
    return absl::InvalidArgumentError("--stage=parameters needs --replaceable");
  }
  ABSL_ASSIGN_OR_RETURN(lowering->partitioners,
                        ChooseBackends(BackendsOf(options), options.compile_specs));
  for (const MethodOption& method : lowering->methods) {
    lowering->files.push_back(ParseArchiveModel(method.archive).path);
  }
  ABSL_ASSIGN_OR_RETURN(lowering->max_sizes, ParseMaxSizes(options.max_size));
  exir::PipelineOptions& pipeline = lowering->pipeline;
  pipeline.limits = options.limits.ForLowering();
  pipeline.partitioners = lowering->partitioners.chosen;
  for (const std::string& text : options.constant_methods) {
    auto method = ParseConstantMethod(text);
    if (!method.ok()) return method.status();
    pipeline.constant_methods.push_back(*std::move(method));
  }
  for (const auto& [name, value] : lowering->saved.constant_methods) {
    const bool given =
        std::any_of(pipeline.constant_methods.begin(), pipeline.constant_methods.end(),
                    [&](const auto& method) { return method.first == name; });
    if (!given) pipeline.constant_methods.push_back({name, {value}});
  }
  for (const auto& [name, list] : pipeline.partitioners.own) {
    if (std::any_of(lowering->methods.begin(), lowering->methods.end(),
                    [&](const MethodOption& method) { return method.name == name; })) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--backend: unknown method '", OneLine(name), "'"));
  }
  ABSL_ASSIGN_OR_RETURN(pipeline.emit.memory.banks, ParseMemoryBanks(options.banks));
  ABSL_RETURN_IF_ERROR(ParseMemoryPlanners(options.memory_planners, pipeline.emit));
  pipeline.backends = &AotBackends();
  pipeline.to_backend.threads = options.threads;
  pipeline.emit.write_state_in_place =
      options.write_state_in_place || lowering->saved.write_state_in_place;
  pipeline.fold_constants = !options.no_fold_constants;
  pipeline.fold_budget = options.fold_budget;
  pipeline.quant_fusion_and_const_prop = options.quant_fusion_and_const_prop;
  pipeline.allow_separate_state = options.allow_separate_state;
  pipeline.random_seed = options.random_seed;
  if (IsPte(options)) {
    if (!options.tokenizer.empty()) {
      return absl::InvalidArgumentError("--tokenizer: expected the format 'belay', got 'pte'");
    }
    if (!options.chat_template.empty()) {
      return absl::InvalidArgumentError("--chat-template: expected the format 'belay', got 'pte'");
    }
    pipeline.transform_passes.all = {pte::RowMajorTensors()};
    pipeline.passes = pte::PortablePasses();
    pipeline.random_seed.reset();  // ExecuTorch has its own generator
    lowering->saved.named_data.clear();
  }
  lowering->max_sizes.SetIn(pipeline);
  bad_usage = false;
  ABSL_RETURN_IF_ERROR(AddNamedData(options, *lowering));
  return lowering;
}

absl::StatusOr<exir::MethodPrograms> ImportForLowering(const Lowering& lowering,
                                                       exir::PipelineReport& report) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<exir::MethodArchive> archives,
                        ChooseModels(lowering.methods));
  return exir::ImportMethods(archives, *lowering.ops, lowering.pipeline, &report);
}

absl::StatusOr<std::optional<QuantizeReport>> QuantizeForLowering(Lowering& lowering,
                                                                  exir::MethodPrograms& programs,
                                                                  exir::PipelineReport& report,
                                                                  double end) {
  if (!lowering.recipe.has_value()) return std::nullopt;
  ABSL_ASSIGN_OR_RETURN(programs, exir::LowerToStage(std::move(programs), exir::Stage::kEdge,
                                                     lowering.pipeline, &report));
  lowering.pipeline.transform_passes = {};  // done
  constexpr double kEdge = 0.3;             // as exir::LowerToStage reports
  const auto progress = [&](double done) {
    if (lowering.pipeline.progress) {
      lowering.pipeline.progress("quantize", kEdge + (end - kEdge) * done);
    }
  };
  return QuantizeMethods(
      programs, {*lowering.recipe, lowering.calibration, lowering.max_loss, lowering.node_losses,
                 lowering.max_sizes, lowering.pipeline.to_backend.threads,
                 &lowering.partitioners.chosen, progress});
}

absl::StatusOr<exir::SerializedProgram> SerializeLowered(const LowerOptions& options,
                                                         const Lowering& lowering,
                                                         const exir::ProgramImage& image) {
  const std::string& external = lowering.external_constants;
  if (IsPte(options)) {
    return pte::SerializeProgram(image, *lowering.ops, {.external_constants = external});
  }
  return exir::SerializeProgram(image, {.companions = true, .constants_companion = external});
}

absl::Status WriteParameters(const LowerOptions& options, const Lowering& lowering,
                             exir::MethodPrograms programs) {
  ABSL_RETURN_IF_ERROR(exir::ApplyConstantRules(lowering.pipeline.constants, programs));
  ABSL_ASSIGN_OR_RETURN(const exir::NamedDataOutput data, exir::ReplaceableTensors(programs));
  if (absl::EndsWith(options.output, ".ptd")) {
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, pte::SerializeDataFile(data));
    return exir::WriteSerializedProgram(file, options.output);
  }
  exir::EmitOptions emit;
  emit.named_data = &data;
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram({}, emit));
  return exir::WriteProgramFile(image, options.output);
}

}  // namespace belay::tools
