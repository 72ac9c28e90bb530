// `belay lower`: archives → a program file.
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/aot_backends.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/command.h"
#include "tools/belay/progress.h"

namespace belay::tools {
namespace {

using nlohmann::json;

json ToJson(const exir::PipelineReport& report, uint64_t file_bytes) {
  json out;
  out["file_bytes"] = file_bytes;
  out["phases"] = json::array();
  for (const auto& p : report.phases) {
    out["phases"].push_back(
        {{"name", p.name}, {"seconds", p.seconds}, {"peak_rss_bytes", p.peak_rss_bytes}});
  }
  out["passes"] = json::array();
  for (const auto& p : report.passes) {
    out["passes"].push_back({{"name", p.name},
                             {"seconds", p.seconds},
                             {"changed", p.changed},
                             {"nodes_before", p.nodes_before},
                             {"nodes_after", p.nodes_after}});
  }
  out["memory"] = json::array();
  for (const auto& m : report.memory) {
    out["memory"].push_back({{"method", m.method},
                             {"planner", m.memory.planner},
                             {"arena_bytes", m.memory.arena_bytes},
                             {"lower_bound_bytes", m.memory.lower_bound},
                             {"unshared_lower_bound_bytes", m.memory.written_lower_bound},
                             {"elided_instructions", m.memory.elided_instructions},
                             {"reordered", m.memory.reordered},
                             {"state_bytes", m.state_bytes}});
  }
  out["delegation"] = json::array();
  for (const auto& d : report.delegation) {
    out["delegation"].push_back({{"method", d.method},
                                 {"backend", d.backend_id},
                                 {"delegate_calls", d.delegate_calls},
                                 {"nodes", d.nodes},
                                 {"constant_bytes", d.constant_bytes}});
  }
  out["unchecked_guards"] = json::array();
  for (const auto& g : report.unchecked_guards) {
    out["unchecked_guards"].push_back({{"method", g.method}, {"guard", g.guard}});
  }
  out["left_over"] = json::array();
  for (const auto& n : report.left_over) {
    out["left_over"].push_back({{"method", n.method},
                                {"node", n.node},
                                {"op", n.op},
                                {"source", n.source},
                                {"reason", n.reason}});
  }
  return out;
}

void PrintReport(const exir::PipelineReport& report, uint64_t file_bytes, const std::string& path) {
  std::cout << path << ": " << file_bytes << " bytes\n";
  for (const auto& p : report.phases)
    std::cout << "  " << p.name << ": " << 1e3 * p.seconds << " ms\n";
  for (const auto& m : report.memory) {
    std::cout << "  method " << m.method << ": arena " << m.memory.arena_bytes
              << " bytes (at least " << m.memory.lower_bound << " needed), state " << m.state_bytes
              << " bytes\n";
  }
  for (const auto& d : report.delegation) {
    if (d.backend_id.empty()) {
      std::cout << "  method " << d.method << ": " << d.nodes << " nodes run on kernels\n";
    } else {
      std::cout << "  method " << d.method << ": " << d.nodes << " nodes in " << d.delegate_calls
                << " delegates of " << d.backend_id << "\n";
    }
  }
}

struct Partitioners {
  std::vector<std::unique_ptr<exir::Partitioner>> owned;
  std::vector<const exir::Partitioner*> list;
};

absl::StatusOr<Partitioners> MakePartitioners(const LowerOptions& options) {
  Partitioners result;
  for (const std::string& names : options.backends) {
    for (const auto piece : absl::StrSplit(names, ',', absl::SkipEmpty())) {
      const std::string name(piece.data(), piece.size());
      if (name == "none") continue;
      std::vector<exir::CompileSpec> specs;
      for (const std::string& spec : options.compile_specs) {
        const size_t colon = spec.find(':'), equals = spec.find('=');
        if (colon == std::string::npos || equals == std::string::npos || equals < colon) {
          return absl::InvalidArgumentError(
              absl::StrCat("--compile-spec takes BACKEND:KEY=VALUE, not '", spec, "'"));
        }
        if (spec.substr(0, colon) != name) continue;
        specs.push_back({spec.substr(colon + 1, equals - colon - 1), spec.substr(equals + 1)});
      }
      ABSL_ASSIGN_OR_RETURN(auto partitioner, CreatePartitioner(name, specs));
      result.list.push_back(partitioner.get());
      result.owned.push_back(std::move(partitioner));
    }
  }
  return result;
}

// The report first: when it can't be written there is no program, and when the program can't be
// written the report goes, too, unless it took the place of another one.
absl::Status WriteReportAndProgram(const LowerOptions& options, std::string_view report,
                                   const exir::SerializedProgram& program) {
  bool added = false;
  if (!options.report.empty()) {
    struct stat info;
    added = ::lstat(options.report.c_str(), &info) != 0;
    ABSL_RETURN_IF_ERROR(WriteFileAtomically(options.report, absl::MakeConstSpan(&report, 1)));
  }
  absl::Status status = exir::WriteSerializedProgram(program, options.output);
  if (!status.ok() && added) ::unlink(options.report.c_str());
  return status;
}

}  // namespace

int Lower(const LowerOptions& options) {
  std::vector<std::pair<std::string, std::string>> methods;
  if (!options.input.empty()) methods.emplace_back("forward", options.input);
  for (const std::string& method : options.methods) {
    const size_t equals = method.find('=');
    if (equals == 0 || equals == std::string::npos) {
      std::cerr << "belay: --method takes NAME=FILE, not '" << method << "'\n";
      return kBadUsage;
    }
    methods.emplace_back(method.substr(0, equals), method.substr(equals + 1));
  }
  if (!options.report.empty() && options.report == options.output) {
    std::cerr << "belay: the report can't be written to the program's file " << options.output
              << "\n";
    return kBadUsage;
  }
  if (methods.empty()) {
    std::cerr << "belay: lower needs an archive, or --method NAME=FILE\n";
    return kBadUsage;
  }
  absl::StatusOr<Partitioners> partitioners = MakePartitioners(options);
  if (!partitioners.ok()) {
    Report(partitioners.status());
    return kBadUsage;
  }
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());

  Progress progress;
  exir::PipelineOptions pipeline;
  pipeline.partitioners = partitioners->list;
  pipeline.backends = &AotBackends();
  pipeline.to_backend.threads = options.threads;
  pipeline.emit.write_state_in_place = options.write_state_in_place;
  pipeline.quant_fusion_and_const_prop = options.quant_fusion_and_const_prop;
  if (options.max_size > 0) pipeline.unbounded_size = options.max_size;
  pipeline.progress = [&](std::string_view phase, double done) { progress.Update(phase, done); };
  bool dumped = false;
  if (!options.dump_after.empty()) {
    pipeline.after_pass = [&](const exir::PassReport& pass, const exir::ExportedProgram& program) {
      if (pass.name != options.dump_after) return;
      std::cout << exir::PrintProgram(program);
      dumped = true;
    };
  }
  exir::PipelineReport report;
  const auto image = exir::LowerFiles(methods, **ops, pipeline, &report);
  if (!image.ok()) return Report(image.status());
  if (!options.dump_after.empty() && !dumped) {
    std::cerr << "belay: --dump-after: no pass is called '" << options.dump_after
              << "'; the passes are:";
    for (const auto& pass : report.passes) std::cerr << " " << pass.name;
    std::cerr << "\n";
    return kBadUsage;
  }
  const auto serialized = exir::SerializeProgram(
      *image, {.companions = true, .constants_companion = options.external_constants});
  if (!serialized.ok()) return Report(serialized.status());
  const std::string text = ToJson(report, serialized->size).dump(2) + "\n";
  if (const absl::Status status = WriteReportAndProgram(options, text, *serialized); !status.ok()) {
    return Report(status);
  }
  for (const auto& g : report.unchecked_guards) {
    std::cerr << "belay: method " << g.method
              << ": the exporter assumed of the inputs what the program can't check: " << g.guard
              << "\n";
  }
  if (options.json) {
    std::cout << text;
  } else if (options.dump_after.empty()) {
    PrintReport(report, serialized->size, options.output);
  }
  return kDone;
}

}  // namespace belay::tools
