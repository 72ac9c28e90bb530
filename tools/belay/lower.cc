// `belay lower`: lowers archives to a program file.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "executorch/writer/portable_passes.h"
#include "executorch/writer/program_serializer.h"
#include "exir/backend/named_data_store.h"
#include "exir/ir/text.h"
#include "exir/model_file.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/saved_programs.h"
#include "exir/serialize/serializer.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/llm/program_tokenizer.h"
#include "runtime/schema/companion_name.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/lower_page.h"
#include "tools/belay/lower_report.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/printing.h"
#include "tools/belay/progress.h"
#include "tools/belay/same_file.h"
#include "tools/graph/draw_exported.h"

namespace belay::tools {
namespace {

bool IsPte(const LowerOptions& options) { return options.format == "pte"; }

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

struct MethodOption {
  std::string name;
  std::string archive;  // FILE or FILE:MODEL
};

// Returns the methods of a file of saved programs; empty for other files.
absl::StatusOr<std::vector<std::string>> SavedMethods(const std::string& file) {
  const absl::StatusOr<bool> saved = exir::IsSavedProgramsFile(file);
  if (!saved.ok() || !*saved) return std::vector<std::string>();
  return exir::ModelNames(file);
}

// `saved`: the methods of the input file, which keep their names.
absl::StatusOr<std::vector<MethodOption>> MethodsOf(const LowerOptions& options,
                                                    const std::vector<std::string>& saved) {
  std::vector<MethodOption> methods;
  for (const std::string& name : saved) {
    methods.push_back({name, absl::StrCat(options.input, ":", name)});
  }
  if (saved.empty() && !options.input.empty()) methods.push_back({"forward", options.input});
  for (const std::string& text : options.methods) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--method: expected NAME=FILE, got '", OneLine(text), "'"));
    }
    MethodOption method{text.substr(0, equals), text.substr(equals + 1)};
    if (!IsUtf8(method.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--method: the name in '", OneLine(text), "' is not UTF-8"));
    }
    const bool again = std::any_of(methods.begin(), methods.end(),
                                   [&](const auto& m) { return m.name == method.name; });
    if (again) {
      return absl::InvalidArgumentError(
          absl::StrCat("the method '", OneLine(method.name), "' is given twice",
                       options.input.empty() || method.name != "forward"
                           ? ""
                           : "; the unnamed archive is 'forward'"));
    }
    methods.push_back(std::move(method));
  }
  if (methods.empty()) {
    return absl::InvalidArgumentError("lower needs an archive, or --method NAME=FILE");
  }
  return methods;
}

// Checks that no output replaces another input or output file of the command.
absl::Status CheckFiles(const LowerOptions& options, const std::vector<MethodOption>& methods) {
  for (const std::string& beside : {options.report, options.html}) {
    if (!IsSameFile(beside, options.output)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the report and the program would write to the same file, ", options.output));
  }
  if (IsSameFile(options.report, options.html)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--report and --html would write to the same file, ", options.html));
  }
  for (const MethodOption& method : methods) {
    const std::string archive = ParseArchiveModel(method.archive).path;
    for (const std::string& written : {options.output, options.report, options.html}) {
      if (!IsSameFile(written, archive)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(written, " can't be written: it is the input archive ", archive));
    }
  }
  if (options.format != "belay" && options.format != "pte") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format: expected 'belay' or 'pte', got '", OneLine(options.format), "'"));
  }
  const std::string& companion = options.external_constants;
  // A digest of 32 digits is appended.
  const std::string name = absl::StrCat(companion, "-", std::string(32, '0'), ".data");
  if (!companion.empty() && !(IsUtf8(companion) && IsCompanionName(name))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--external-constants: expected a prefix for a file name, without folders, in UTF-8, got '",
        OneLine(companion), "'"));
  }
  return absl::OkStatus();
}

exir::Stage StageOf(const std::string& name) {
  return name == "aten"   ? exir::Stage::kAten
         : name == "edge" ? exir::Stage::kEdge
                          : exir::Stage::kLowered;
}

// Selects the models that become the methods.
absl::StatusOr<std::vector<exir::MethodArchive>> ChooseModels(
    const std::vector<MethodOption>& methods) {
  std::vector<exir::MethodArchive> archives;
  for (const MethodOption& method : methods) {
    ABSL_ASSIGN_OR_RETURN(ArchiveModel chosen, ChooseModel(method.archive, method.name));
    archives.push_back({method.name, std::move(chosen.path), std::move(chosen.model)});
  }
  return archives;
}

// Serializes to the format of the options.
absl::StatusOr<exir::SerializedProgram> Serialize(const LowerOptions& options,
                                                  const exir::ProgramImage& image,
                                                  const exir::OpRegistry& ops) {
  if (IsPte(options)) {
    return pte::SerializeProgram(image, ops, {.external_constants = options.external_constants});
  }
  return exir::SerializeProgram(
      image, {.companions = true, .constants_companion = options.external_constants});
}

// A report to write with the program: its path ("" to skip it) and its content.
using ReportFile = std::pair<std::string, std::string>;

// Writes the reports first: if one fails, no program is written. If writing the program fails,
// removes the reports, unless they replaced existing files.
absl::Status WriteReportsAndProgram(const std::vector<ReportFile>& reports,
                                    const exir::SerializedProgram& program,
                                    const std::string& output) {
  std::vector<std::string> added;
  absl::Status status;
  for (const auto& [path, content] : reports) {
    if (path.empty() || !status.ok()) continue;
    struct stat info;
    const bool is_new = ::lstat(path.c_str(), &info) != 0;
    const std::string_view piece = content;
    status = WriteFileAtomically(path, absl::MakeConstSpan(&piece, 1));
    if (status.ok() && is_new) added.push_back(path);
  }
  if (status.ok()) status = exir::WriteSerializedProgram(program, output);
  if (!status.ok()) {
    for (const std::string& path : added) ::unlink(path.c_str());
  }
  return status;
}

// Adds the file of a tokenizer, after reading it, to the named data of the program.
absl::Status AddTokenizer(const std::string& path, exir::NamedDataStore& store) {
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                        MappedFile::Open(path, {.access = FileAccess::kCopy}));
  const absl::Span<const std::byte> bytes = file->bytes();
  const absl::Status read =
      llm::Tokenizer::FromJson(
          std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
          .status();
  if (!read.ok()) return Annotate(read, path);
  return store.Add(llm::kTokenizerKey, exir::Storage::Own({bytes.begin(), bytes.end()}));
}

// Prints the first guards of each method, and the number of the others.
void PrintUncheckedGuards(const std::vector<exir::UncheckedGuard>& guards) {
  constexpr int kShown = 3;
  std::map<std::string, int> count;
  for (const auto& g : guards) {
    if (++count[g.method] > kShown) continue;
    std::cerr << "belay: method " << OneLine(g.method)
              << ": the program can't check this assumption of the exporter about its inputs: "
              << OneLine(g.guard) << "\n";
  }
  for (const auto& [method, all] : count) {
    if (all <= kShown) continue;
    std::cerr << "belay: method " << OneLine(method) << ": and " << all - kShown
              << " more such assumptions: see --report\n";
  }
}

}  // namespace

int Lower(const LowerOptions& options) {
  const absl::StatusOr<std::vector<std::string>> saved = SavedMethods(options.input);
  if (!saved.ok()) return Report(saved.status());
  const absl::StatusOr<std::vector<MethodOption>> methods = MethodsOf(options, *saved);
  if (!methods.ok()) return ReportBadUsage(methods.status());
  if (const absl::Status status = CheckFiles(options, *methods); !status.ok()) {
    return ReportBadUsage(status);
  }
  const absl::StatusOr<Partitioners> partitioners =
      ChooseBackends(BackendsOf(options), options.compile_specs);
  if (!partitioners.ok()) return ReportBadUsage(partitioners.status());
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());

  std::vector<std::string> files;
  for (const MethodOption& method : *methods) {
    files.push_back(ParseArchiveModel(method.archive).path);
  }
  const absl::StatusOr<MaxSizes> max_sizes = ParseMaxSizes(options.max_size);
  if (!max_sizes.ok()) return ReportBadUsage(max_sizes.status());
  const WithinLimits limits(options.limits, files);
  Progress progress;
  exir::PipelineOptions pipeline;
  pipeline.limits = options.limits.ForLowering();
  pipeline.partitioners = partitioners->chosen;
  for (const std::string& text : options.constant_methods) {
    auto method = ParseConstantMethod(text);
    if (!method.ok()) return ReportBadUsage(method.status());
    pipeline.constant_methods.push_back(*std::move(method));
  }
  for (const auto& [name, list] : pipeline.partitioners.own) {
    if (std::any_of(methods->begin(), methods->end(),
                    [&](const MethodOption& method) { return method.name == name; })) {
      continue;
    }
    return ReportBadUsage(absl::InvalidArgumentError(
        absl::StrCat("--backend: unknown method '", OneLine(name), "'")));
  }
  pipeline.backends = &AotBackends();
  pipeline.to_backend.threads = options.threads;
  pipeline.emit.write_state_in_place = options.write_state_in_place;
  pipeline.fold_constants = !options.no_fold_constants;
  pipeline.fold_budget = options.fold_budget;
  pipeline.quant_fusion_and_const_prop = options.quant_fusion_and_const_prop;
  pipeline.allow_separate_state = options.allow_separate_state;
  pipeline.random_seed = options.random_seed;
  exir::NamedDataStore named_data;
  if (!options.tokenizer.empty()) {
    if (const absl::Status added = AddTokenizer(options.tokenizer, named_data); !added.ok()) {
      return Report(added);
    }
    pipeline.emit.named_data = &named_data.output();
  }
  if (IsPte(options)) {
    pipeline.transform_passes.all = {pte::RowMajorTensors()};
    pipeline.passes = pte::PortablePasses();
    pipeline.random_seed.reset();  // ExecuTorch has its own generator
  }
  max_sizes->SetIn(pipeline);
  pipeline.progress = [&](std::string_view phase, double done) { progress.Update(phase, done); };
  bool dumped = false;
  if (!options.dump_after.empty()) {
    pipeline.after_pass = [&](const exir::PassReport& pass, const exir::ExportedProgram& program) {
      if (pass.name != options.dump_after) return;
      std::cout << ForTerminal(exir::PrintProgram(program));
      dumped = true;
    };
  }
  DrawnProgram drawn;
  if (!options.html.empty()) {
    pipeline.after_to_backend = [&](const exir::MethodPrograms& methods) {
      for (const auto& [name, program] : methods) drawn.push_back(DrawExported(name, program));
    };
  }
  exir::PipelineReport report;
  const absl::StatusOr<std::vector<exir::MethodArchive>> archives = ChooseModels(*methods);
  if (!archives.ok()) return Report(archives.status());
  absl::StatusOr<exir::MethodPrograms> programs =
      exir::ImportMethods(*archives, **ops, pipeline, &report);
  if (!programs.ok()) return Report(programs.status());
  if (!options.stage.empty()) {
    programs = exir::LowerToStage(*std::move(programs), StageOf(options.stage), pipeline, &report);
    if (!programs.ok()) return Report(programs.status());
    return Report(exir::WriteSavedPrograms(*programs, options.output));
  }
  const auto image = exir::LowerPrograms(*std::move(programs), pipeline, &report);
  if (!image.ok()) return Report(image.status());
  if (!options.dump_after.empty() && !dumped) {
    std::cerr << "belay: --dump-after: unknown pass '" << OneLine(options.dump_after)
              << "'; the passes are:";
    std::set<std::string_view> listed;
    for (const auto& pass : report.passes) {
      if (listed.insert(pass.name).second) std::cerr << " " << pass.name;
    }
    std::cerr << "\n";
    return kBadUsage;
  }
  if (const double share = DelegatedFlops(report); share < options.min_delegated_flops) {
    std::cerr << "belay: delegates compute " << 100 * share
              << " % of the floating-point operations, --min-delegated-flops requires "
              << 100 * options.min_delegated_flops << " %; not delegated:\n";
    for (const auto& n : report.left_over) {
      if (n.flops == 0) continue;
      std::cerr << "  method " << OneLine(n.method) << ": " << OneLine(n.node) << ", "
                << OneLine(n.op) << (n.source.empty() ? "" : " at ") << OneLine(n.source) << ": "
                << OneLine(n.reason) << "\n";
    }
    return kNegative;
  }
  const auto serialized = Serialize(options, *image, **ops);
  if (!serialized.ok()) return Report(serialized.status());
  if (const absl::Status status = CheckBudget(); !status.ok()) return Report(status);
  const nlohmann::json json = LowerReportJson(report, serialized->size);
  const std::string text = JsonText(json);
  std::string page;
  if (!options.html.empty()) page = LowerPage(options.output, json, drawn, *image);
  const absl::Status written = WriteReportsAndProgram(
      {{options.report, text}, {options.html, page}}, *serialized, options.output);
  if (!written.ok()) return Report(written);
  PrintUncheckedGuards(report.unchecked_guards);
  for (const std::string& note : report.notes) std::cerr << "belay: " << OneLine(note) << "\n";
  if (options.json) {
    std::cout << text;
  } else if (options.dump_after.empty()) {
    PrintLowerReport(report, serialized->size, options.output);
  }
  return kDone;
}

Command LowerCommand() {
  const auto lower = std::make_shared<LowerOptions>();
  return {
      .name = "lower",
      .about = "Lowers exported programs (.pt2), or saved ones (.bir), to one program file.",
      .options = WithLimits(
          {{"archive",
            &lower->input,
            "FILE or FILE:MODEL: the archive that becomes the method 'forward'",
            {.not_empty = true}},
           {"-o,--output",
            &lower->output,
            "the program file to write",
            {.required = true, .not_empty = true}},
           {"--method",
            &lower->methods,
            "NAME=FILE or NAME=FILE:MODEL: one more method (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--format",
            &lower->format,
            "'belay', or 'pte': a program of ExecuTorch 1.5 with its portable kernels",
            {.not_empty = true}},
           {"--backend",
            &lower->backends,
            "[METHOD:]NAMES: backends in order of priority, comma separated, for all methods or "
            "for one (repeatable), or 'none'; default: 'cpu', with --format=pte 'none'",
            {.repeatable = true, .one_value = true}},
           {"--compile-spec",
            &lower->compile_specs,
            "BACKEND:KEY=VALUE: a compile spec of the backend (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--constant-method",
            &lower->constant_methods,
            "NAME=VALUE: a method without inputs that returns a number, true, false, a \"string\" "
            "or a [list] of them (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--external-constants",
            &lower->external_constants,
            "writes constants and named data to NAME-DIGEST.data next to the program file; with "
            "--format=pte constants to NAME.ptd",
            {.not_empty = true}},
           {"--tokenizer",
            &lower->tokenizer,
            "stores a Hugging Face tokenizer.json in the program, for belay generate",
            {.not_empty = true, .excludes = {"--format"}}},
           {"--report", &lower->report, "writes a JSON report to this file", {.not_empty = true}},
           {"--html",
            &lower->html,
            "writes an HTML page: graph, delegation with reasons, memory, constants",
            {.not_empty = true}},
           {"--max-size",
            &lower->max_size,
            "VALUE: upper bound of sizes for which the program has none; SYMBOL=VALUE: of one "
            "size, as 'belay inspect' names it (repeatable)",
            {.repeatable = true, .one_value = true}},
           {"--random-seed",
            &lower->random_seed,
            "initial seed of the program's random numbers; default: 0",
            {}},
           {"--min-delegated-flops",
            &lower->min_delegated_flops,
            "minimum share of floating-point operations (matmuls, convolutions, attention) in "
            "delegates, 0 to 1; below it, exit status 1 and no file",
            {.least = 0, .most = 1}},
           {"--dump-after",
            &lower->dump_after,
            "prints the program after this pass",
            {.not_empty = true}},
           {"--threads",
            &lower->threads,
            "threads for backends' preprocessing",
            {.least = 1, .most = 1024}},
           {"--write-state-in-place", &lower->write_state_in_place,
            "updates buffers in place; a failed call leaves them partially written"},
           {"--allow-separate-state", &lower->allow_separate_state,
            "accepts a method that only reads a buffer which another method writes under another "
            "name"},
           {"--no-fold-constants", &lower->no_fold_constants,
            "keeps operators whose operands are all constant, and batch norms, in the program"},
           {"--fold-budget",
            &lower->fold_budget,
            "maximum growth of the file by folded constants, in bytes",
            {.least = 0, .excludes = {"--no-fold-constants"}}},
           {"--quant-fusion-and-const-prop", &lower->quant_fusion_and_const_prop,
            "uses quantized operators where available"},
           {"--stage",
            &lower->stage,
            "stops at this stage and writes the programs (.bir), for lower, inspect and verify",
            {.one_of = {"aten", "edge", "lowered"},
             .excludes = {"--format", "--external-constants", "--tokenizer", "--report", "--html",
                          "--min-delegated-flops", "--dump-after"}}},
           {"--json",
            &lower->json,
            "prints the report as JSON",
            {.excludes = {"--dump-after", "--stage"}}}},
          &lower->limits, /*lowers=*/true),
      .footer =
          "Of an archive with several models, --method NAME=FILE uses the model NAME, and an "
          "archive\n"
          "without a name uses 'forward' or 'model'; FILE:MODEL uses MODEL.\n"
          "Example: belay lower model.pt2 -o model.belay --backend demo --report report.json\n"
          "         belay lower --method prefill=llm.pt2 --method decode=llm.pt2:step -o "
          "llm.belay\n"
          "         belay lower model.pt2 --format pte -o model.pte",
      .owned = lower,
      .run = [lower] { return Lower(*lower); },
  };
}

}  // namespace belay::tools
