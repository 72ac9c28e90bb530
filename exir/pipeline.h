// The lowering pipeline: Import -> ToEdge -> ToBackend -> ToProgram.
//
//   auto ops = CreateStandardOps();
//   ABSL_ASSIGN_OR_RETURN(ProgramImage image,
//                         LowerFiles({{"forward", "model.pt2"}}, **ops, options));
//   ABSL_RETURN_IF_ERROR(WriteProgramFile(image, "model.belay"));
#ifndef BELAY_EXIR_PIPELINE_H_
#define BELAY_EXIR_PIPELINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/to_backend.h"
#include "exir/backend/transforms/device_copies.h"
#include "exir/constant_rules.h"
#include "exir/decompositions/decompose.h"
#include "exir/emit/emitter.h"
#include "exir/emit/program_image.h"
#include "exir/import/import.h"
#include "exir/method_state.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/pipeline_report.h"
#include "runtime/core/budget.h"

namespace belay::exir {

// A list for all methods, with overrides per method.
template <typename T>
struct PerMethod {
  std::vector<T> all;
  absl::btree_map<std::string, std::vector<T>> own = {};  // by the method's name

  const std::vector<T>& Of(const std::string& method) const {
    const auto it = own.find(method);
    return it == own.end() ? all : it->second;
  }
};

// Resource limits of one lowering, for all methods together. Exceeding a limit is
// kResourceExhausted and names the limit. If the calling thread has a Budget, its limits are not
// used and nothing is charged to it; its deadline and cancellation also apply.
struct LoweringLimits {
  // Proportional to the size of the archives (docs/hardening.md §5).
  static constexpr uint64_t kInProportion = UINT64_MAX;
  // Nodes created by the reader, passes and decompositions, including nodes that are erased later.
  uint64_t nodes = kInProportion;
  // Bytes of constants that are reordered, expanded or folded.
  uint64_t memory_bytes = kInProportion;
  uint64_t work = kInProportion;  // of folding (runtime/kernel_interface/work.h)
  std::optional<std::chrono::steady_clock::time_point> deadline;  // kDeadlineExceeded
  // kCancelled once it is true. Any thread may set it; it must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};

// Sets the limits in `budget` for archives of `archive_bytes` bytes. Does not change its deadline
// and cancellation. For callers that run import or ToEdge as separate steps:
//   Budget budget;
//   AllowLowering({}, archive_bytes, budget);
//   const Budget::Scope scope(&budget);
void AllowLowering(const LoweringLimits& limits, uint64_t archive_bytes, Budget& budget);

struct PipelineOptions {
  LoweringLimits limits;
  ImportOptions import;
  // Upper bound for sizes to which the program gives none (a Dim without max=, a data-dependent
  // size). Memory is planned for this bound, and larger inputs are rejected. If unset, such a
  // program is an error. Bounds that operators imply also apply (exir/passes/bound_data_sizes.h).
  std::optional<int64_t> unbounded_size;
  // Upper bounds of sizes by symbol ("s0", "u3"), as in ExportedProgram::ranges. A symbol that has a
  // bound gets the smaller one. kInvalidArgument if no method has the symbol, or if its lower bound
  // is larger.
  absl::btree_map<std::string, int64_t> size_bounds;
  std::optional<int64_t> random_seed = 0;  // as ToEdgeOptions::random_seed
  // Run on each edge program before partitioning, in this order. Their results must be valid edge
  // programs. ExecuTorch's transform_passes (docs/lowering.md row 18).
  PerMethod<Pass> transform_passes;
  // In priority order: round i applies the i-th partitioner of each method that has one. Before
  // decomposition, their transforms are applied in the same order
  // (Partitioner::TransformBeforeDecomposition).
  PerMethod<const Partitioner*> partitioners;
  const BackendSet* backends = nullptr;  // needed when there are partitioners
  ToBackendOptions to_backend;
  // After the last round, optimizes the nodes that were not delegated, including those that
  // composite kernels were expanded to. First merges batch norms into preceding convolutions and
  // matmuls (exir/passes/merge_batch_norm.h), then folds constants
  // (exir/passes/propagate_constants.h). Delegates are not affected: backends fold their own
  // programs.
  bool fold_constants = true;
  // Bytes by which folding may grow the constants of a method in total. Weights that are only
  // permuted or merged cost nothing because they replace the originals. nullopt: see
  // PropagateConstantsOptions::max_growth_bytes.
  std::optional<uint64_t> fold_budget = std::nullopt;
  // Before folding, replaces dequantize -> operator -> quantize by a quantized operator
  // (exir/passes/fuse_quantized_ops.h). Also folds constants, even if `fold_constants` is false.
  // ExecuTorch's do_quant_fusion_and_const_prop.
  bool quant_fusion_and_const_prop = false;
  // Run on every method after that, in this order. Their results must be valid edge programs.
  std::vector<Pass> passes;
  // Copies at the borders of methods with delegates on a device that are left out
  // (exir/backend/transforms/device_copies.h), with overrides by method.
  DeviceCopyOptions device_copies;
  absl::btree_map<std::string, DeviceCopyOptions> method_device_copies = {};
  // Methods without inputs that return these values (numbers, bools, strings), emitted after the
  // other methods: {"get_max_seq_len", {2048}}. ExecuTorch's constant_methods.
  std::vector<std::pair<std::string, std::vector<Argument>>> constant_methods;
  // Lowers methods that read a buffer which another method writes under another name
  // (exir/method_state.h). Otherwise these are kInvalidArgument.
  bool allow_separate_state = false;
  EmitOptions emit;
  // Files of constants, and replaceable constants (constant_rules.h). Applied before any pass; the
  // input of LowerToStage and LowerPrograms may have been marked by earlier calls.
  ConstantRules constants;
  // Called when a phase starts and when a pass ends, with its name and the completed fraction of
  // the lowering, in [0, 1].
  std::function<void(std::string_view phase, double done)> progress;
  std::function<void(const PassReport&, const ExportedProgram&)> after_pass;
  // Called after all delegates are created, before the passes on the remaining nodes.
  std::function<void(const MethodPrograms&)> after_to_backend;
};

// ExecuTorch's EdgeCompileConfig (docs/edge-dialect.md §2).
struct ToEdgeOptions {
  PassManagerOptions passes;
  DecomposeOptions decompose;
  // false: operators keep memory formats instead of becoming dim_order_ops (_skip_dim_order).
  bool dim_order = true;
  // Verifies the result: rules E1 and E3 to E7 of the edge dialect. Operators need not be core:
  // Belay runs others as well, and emission lists those that it cannot run.
  bool check_ir_validity = true;
  // Initial seed of the random generator of a program that uses random numbers
  // (exir/passes/seed_random_ops.h). nullopt: random operators are not changed. Their results
  // differ from call to call; this is for runtimes with a generator of their own.
  std::optional<int64_t> random_seed = 0;
};

// Converts a program of any dialect to an edge program. A TRAINING program (the default of
// torch.export.save) is first functionalized to ATEN: regions are inlined, composite operators
// decomposed, mutations replaced. In both dialects, operators that have a decomposition are
// decomposed, except those in `decompose.keep`. Callers that keep operators must ensure that all of
// them are delegated (KeepFor, CheckPreservedOps in exir/backend/partitioner_sequence.h).
//   kUnimplemented       the program uses unsupported features; lists all such nodes where
//                        possible
//   kFailedPrecondition  the result is not a valid edge program (exir/passes/edge_verifier.h);
//                        lists all violations
absl::StatusOr<ExportedProgram> ToEdge(ExportedProgram program, const ToEdgeOptions& options = {},
                                       std::vector<PassReport>* reports = nullptr);

// Returns options that keep the operators of `program` that the partitioners ask to preserve
// (Partitioner::OpsToNotDecompose). Operators that write or return aliases are never kept, nor
// those that OpsToKeep omits (exir/backend/partitioner_sequence.h). If `notes` is not null, it
// receives a line for each of these.
DecomposeOptions KeepFor(const ExportedProgram& program,
                         absl::Span<const Partitioner* const> partitioners,
                         std::vector<std::string>* notes = nullptr);

// A stage at which lowering can stop.
enum class Stage : uint8_t {
  kAten,     // as exported; a TRAINING program is functional and ATEN from here on
  kEdge,     // edge programs, transform passes done
  kLowered,  // edge programs with delegates
};
// Lowers the programs up to `stage`. The result may be saved (exir/serialize/saved_programs.h), or
// changed and passed to LowerPrograms, which continues from this stage. Programs that are already
// past the stage are returned unchanged. Errors as LowerPrograms.
absl::StatusOr<MethodPrograms> LowerToStage(MethodPrograms methods, Stage stage,
                                            const PipelineOptions& options,
                                            PipelineReport* report = nullptr);

// The source file of a method.
struct MethodArchive {
  std::string method, path;
  std::string model = {};  // ImportOptions::model_name, unless ""
};

// Imports programs from archives or files of saved programs (exir/model_file.h), within
// `options.limits`. Errors are annotated with the method.
absl::StatusOr<MethodPrograms> ImportMethods(const std::vector<MethodArchive>& methods,
                                             const OpRegistry& ops, const PipelineOptions& options,
                                             PipelineReport* report = nullptr);

// Lowers archives to a program, within `options.limits`. Errors are annotated with the phase, the
// method and the path.
//
// Every method is verified to be an edge program after ToEdge, after `options.transform_passes`,
// after each round and after `options.passes` (kFailedPrecondition, VerifyEdge's message).
// Operators need not be core: those without a kernel are listed when the program is emitted or
// loaded.
//
// After the last round, operators that were not delegated and that have only a composite implicit
// kernel are expanded by it (PromoteBackendOps). Last, functions on scalars become executorch_prim
// operators (EdgeToBackendOps).
//   kInvalidArgument  options name an unknown method; a constant method has the name of another
//                     method, returns nothing, or returns a value that is not a number, bool or
//                     string
absl::StatusOr<ProgramImage> LowerFiles(const std::vector<MethodArchive>& methods,
                                        const OpRegistry& ops, const PipelineOptions& options,
                                        PipelineReport* report = nullptr);
// Lowers programs that are already imported.
absl::StatusOr<ProgramImage> LowerPrograms(MethodPrograms methods, const PipelineOptions& options,
                                           PipelineReport* report = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PIPELINE_H_
