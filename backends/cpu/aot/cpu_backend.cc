#include "backends/cpu/aot/cpu_backend.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "backends/cpu/aot/delegate_cost.h"
#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "backends/cpu/aot/passes/cpu_passes.h"
#include "backends/cpu/aot/shared_constants.h"
#include "backends/cpu/aot/tied_tables.h"
#include "exir/backend/compile_spec_choice.h"
#include "exir/backend/named_data_store.h"
#include "exir/emit/emitter.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay::cpu {

namespace {

// Constants of at least this size, or of a companion file, are named data; others are stored in the
// blob. An entry, a segment and their alignment cost about 400 bytes.
constexpr size_t kSharedBytes = 1024;

bool HasDynamicSizes(const exir::ExportedProgram& program) {
  const exir::Graph& graph = program.top();
  return absl::c_any_of(graph.inputs(), [&graph](exir::ValueId input) {
    const exir::TensorMeta* meta = graph.value(input).tensor();
    return meta != nullptr && !meta->is_static();
  });
}

absl::StatusOr<exir::PreprocessResult> Compile(exir::ExportedProgram program,
                                               absl::Span<const exir::CompileSpec> compile_specs,
                                               SharedConstants& constants, TiedTables& tables,
                                               bool has_dynamic_sizes) {
  ABSL_ASSIGN_OR_RETURN(
      const size_t choice,
      exir::CompileSpecChoice(compile_specs, "precision",
                              {"auto", "program", "bfloat16", "winograd", "direct", "int8"}));
  const auto precision = static_cast<Precision>(choice);
  exir::NamedDataStore named_data;
  for (const exir::InputSpec& spec : program.signature.inputs) {
    const exir::ConstantTensor* tensor = spec.replaceable ? program.FindConstant(spec) : nullptr;
    if (tensor == nullptr) continue;
    ABSL_RETURN_IF_ERROR(exir::AddReplaceableData(spec, *tensor, named_data));
  }
  FusedHandles handles;
  PassDiagnostics diagnostics;
  ABSL_ASSIGN_OR_RETURN(
      program, exir::RunPasses(std::move(program), CpuPasses(precision, handles, diagnostics,
                                                             tables, has_dynamic_sizes)));
  exir::PreprocessResult result;
  ABSL_ASSIGN_OR_RETURN(result.debug_handle_map, handles.MapOf(program));
  result.delegate_info = diagnostics.Text(program);
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  const auto name = [&](const exir::Storage& bytes,
                        const std::string& file) -> absl::StatusOr<std::string> {
    if (file.empty() && bytes.bytes.size() < kSharedBytes) return std::string();
    const SharedConstants::Entry entry = constants.Add(bytes);
    std::string key = absl::BytesToHexString(entry.sha256);
    exir::NamedDataOptions options;
    options.alignment = static_cast<int64_t>(kSegmentAlignment);
    options.sha256 = entry.sha256;
    options.external_tag = file;
    ABSL_RETURN_IF_ERROR(named_data.Add(key, entry.bytes, options));
    return key;
  };
  exir::EmitOptions emit;
  emit.name_constant = name;
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods, emit));
  result.cost = CostOf(image.metadata, kBackendId);
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  result.processed = file.ToStorage();
  result.named_data = named_data.output();
  return result;
}

// Compiles the partitions of one lowering, which share constants.
class SharingBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return kBackendId; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override {
    TiedTables tables;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tables = known_;
    }
    ABSL_ASSIGN_OR_RETURN(
        exir::PreprocessResult result,
        Compile(std::move(program), compile_specs, constants_, tables, has_dynamic_sizes_));
    const std::lock_guard<std::mutex> lock(mutex_);
    found_.Merge(tables);
    return result;
  }

  // Partitions without embeddings first, then those that pack a table, then the others: each uses
  // the layouts of earlier rounds and its own.
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int threads) const override {
    std::vector<int> rounds;
    std::vector<bool> embeds;
    for (const auto& [method, partitions] : methods) {
      for (const exir::PartitionInput& input : partitions) {
        embeds.push_back(known_.AddTablesOf(input.program));
        has_dynamic_sizes_ = has_dynamic_sizes_ || HasDynamicSizes(input.program);
      }
    }
    for (const auto& [method, partitions] : methods) {
      for (const exir::PartitionInput& input : partitions) {
        rounds.push_back(!embeds[rounds.size()] ? 0 : known_.HasMatmulOf(input.program) ? 1 : 2);
      }
    }
    found_ = known_;
    return PreprocessInRounds(std::move(methods), rounds, threads, [this] { known_ = found_; });
  }

 private:
  mutable SharedConstants constants_;
  mutable std::mutex mutex_;
  mutable TiedTables known_;  // of earlier rounds
  mutable TiedTables found_;  // also of this round
  mutable bool has_dynamic_sizes_ = false;
};

}  // namespace

absl::StatusOr<exir::PreprocessResult> CpuBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  SharedConstants constants;
  TiedTables tables;
  tables.AddTablesOf(program);
  const bool has_dynamic_sizes = HasDynamicSizes(program);
  return Compile(std::move(program), compile_specs, constants, tables, has_dynamic_sizes);
}

absl::StatusOr<exir::MethodResults> CpuBackend::PreprocessMultimethod(
    exir::MethodPartitions methods, int threads) const {
  return SharingBackend().PreprocessMultimethod(std::move(methods), threads);
}

}  // namespace belay::cpu
