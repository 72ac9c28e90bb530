// The front door: Import → ToEdge → ToBackend → ToProgram.
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
#include "exir/decompositions/decompose.h"
#include "exir/emit/emitter.h"
#include "exir/emit/program_image.h"
#include "exir/import/import.h"
#include "exir/pass/pass_manager.h"
#include "runtime/core/budget.h"

namespace belay::exir {

struct PhaseReport {
  std::string name;  // "import", "to_edge", "to_backend", "emit"
  double seconds = 0;
  uint64_t peak_rss_bytes = 0;  // of the process, at the end of the phase
};
struct LeftOverNode {
  std::string method, graph, node, op, source, reason;  // graph: Graph::name
  double flops = 0;                                     // exir/flop_count.h
};
struct DelegationReport {
  std::string method, backend_id;
  size_t delegate_calls = 0;
  size_t nodes = 0;  // operator nodes; for backend_id "" those left over
  double flops = 0;  // of those nodes (exir/flop_count.h)
  uint64_t constant_bytes = 0;
};
// What the backend says of a delegate (PreprocessResult::delegate_info), by lines.
struct DelegateInfo {
  std::string method, backend_id, node;  // the delegate call
  std::vector<std::string> lines;
};
// What the exporter assumed of a method's inputs and the program does not check
// (exir/passes/guards_to_assertions.h).
struct UncheckedGuard {
  std::string method, guard;
};
struct PipelineReport {
  std::vector<PhaseReport> phases;
  std::vector<PassReport> passes;
  std::vector<MemoryReport> memory;
  std::vector<DelegationReport> delegation;
  std::vector<LeftOverNode> left_over;
  std::vector<DelegateInfo> delegate_info;  // of delegates of which something is said
  std::vector<UncheckedGuard> unchecked_guards;
  // What was probably not meant but has one safe meaning, one line each (ImportOptions::notes,
  // ToBackendOptions::notes), and operators that a partitioner asked to keep in vain.
  std::vector<std::string> notes;
};

// A list for all methods, but for those that have one of their own.
template <typename T>
struct PerMethod {
  std::vector<T> all;
  absl::btree_map<std::string, std::vector<T>> own = {};  // by the method's name

  const std::vector<T>& Of(const std::string& method) const {
    const auto it = own.find(method);
    return it == own.end() ? all : it->second;
  }
};

// What lowering may take, all methods together. Crossing a limit is kResourceExhausted, naming it.
// The calling thread's Budget, if it has one, is left alone, but for its deadline and cancellation,
// which hold as well.
struct LoweringLimits {
  // In proportion to the bytes of the archives, as docs/hardening.md §5 says.
  static constexpr uint64_t kInProportion = UINT64_MAX;
  // Made by the reader, passes and decompositions, those that are erased again included.
  uint64_t nodes = kInProportion;
  // Of elements that are copied in another order, expanded or folded.
  uint64_t memory_bytes = kInProportion;
  uint64_t work = kInProportion;  // of folding (runtime/kernel/work.h)
  std::optional<std::chrono::steady_clock::time_point> deadline;  // kDeadlineExceeded
  // kCancelled once it is true. Any thread may set it; it must live as long as the call.
  const std::atomic<bool>* cancel = nullptr;
};

// Lets `budget` allow what the limits say, for archives of so many bytes; deadlines and cancellation
// are left as they are. For who imports or makes edge programs in steps of his own:
//   Budget budget;
//   AllowLowering({}, archive_bytes, budget);
//   const Budget::Scope scope(&budget);
void AllowLowering(const LoweringLimits& limits, uint64_t archive_bytes, Budget& budget);

struct PipelineOptions {
  LoweringLimits limits;
  ImportOptions import;
  // The most that a size may be which the program gives no upper bound (a Dim without max=, a size
  // that the data decide): memory is planned for it, and larger inputs are refused. Without it such
  // a program is an error.
  std::optional<int64_t> unbounded_size;
  std::optional<int64_t> random_seed = 0;  // as ToEdgeOptions::random_seed
  // Run on each edge program before it is partitioned, in this order; what they give must still be
  // an edge program. ExecuTorch's transform_passes (docs/lowering.md row 18).
  PerMethod<Pass> transform_passes;
  // In priority order: round i applies the i-th partitioner of each method that has so many.
  PerMethod<const Partitioner*> partitioners;
  const BackendSet* backends = nullptr;  // needed when there are partitioners
  ToBackendOptions to_backend;
  // After the last round, in what the delegates left and composite kernels made of it: batch norms become part of the convolutions
  // and products before them (exir/passes/merge_batch_norm.h), then what depends on constants alone
  // is computed (exir/passes/propagate_constants.h). Delegates fold for themselves.
  bool fold_constants = true;
  // By how many bytes folding may make a method's constants grow, all together. Weights that are
  // only permuted or merged cost nothing, since they replace what they come from.
  uint64_t fold_budget = uint64_t{1} << 20;
  // Before that: dequantize → operator → quantize becomes an operator on quantized numbers
  // (exir/passes/fuse_quantized_ops.h). What depends on constants alone is computed then even
  // without `fold_constants`. ExecuTorch's do_quant_fusion_and_const_prop.
  bool quant_fusion_and_const_prop = false;
  // Run on every method after that, in this order; what they give must still be an edge
  // program.
  std::vector<Pass> passes;
  // Methods without inputs that return these values (numbers, bools, texts), after the others:
  // {"get_max_seq_len", {2048}}. ExecuTorch's constant_methods.
  std::vector<std::pair<std::string, std::vector<Argument>>> constant_methods;
  EmitOptions emit;
  // Called when a phase starts or a pass ended: phase or pass name, and how much of the whole is
  // done, in [0, 1].
  std::function<void(std::string_view phase, double done)> progress;
  std::function<void(const PassReport&, const ExportedProgram&)> after_pass;
  // Called once delegates have what they take, before the passes on the rest.
  std::function<void(const MethodPrograms&)> after_to_backend;
};

// ExecuTorch's EdgeCompileConfig (docs/edge-dialect.md §2).
struct ToEdgeOptions {
  PassManagerOptions passes;
  DecomposeOptions decompose;
  // false: operators keep memory formats instead of becoming dim_order_ops (_skip_dim_order).
  bool dim_order = true;
  // Whether the result is verified: rules E1 and E3 to E7 of the edge dialect. Operators need not
  // be core: Belay runs others as well, and emission lists those that it can't run.
  bool check_ir_validity = true;
  // The first seed of the generator of a program that asks for random numbers
  // (exir/passes/seed_random_ops.h). nullopt: operators stay as they are, and their numbers are others
  // at each call, for runtimes with a generator of their own.
  std::optional<int64_t> random_seed = 0;
};

// An edge program of a program of any dialect. A TRAINING program (what torch.export.save writes by
// default) is made functional and ATEN first: regions are inlined, composite operators decomposed,
// writes replaced. In both, operators that have a decomposition are decomposed, but for those that
// `decompose.keep` keeps; who keeps some sees to it that they end up in delegates (KeepFor,
// CheckPreservedOps in exir/backend/partitioner_sequence.h).
//   kUnimplemented       the program does what Belay does not know; lists all such nodes where it
//                        can
//   kFailedPrecondition  what came is not an edge program (exir/passes/edge_verifier.h); all
//                        violations
absl::StatusOr<ExportedProgram> ToEdge(ExportedProgram program, const ToEdgeOptions& options = {},
                                       std::vector<PassReport>* reports = nullptr);

// Keeps what the partitioners ask to keep (Partitioner::OpsToNotDecompose) of `program`, but for
// operators that write or whose results are aliases, which never stay, and those that OpsToKeep
// leaves out (exir/backend/partitioner_sequence.h); a line for each goes to `notes` unless that is null.
DecomposeOptions KeepFor(const ExportedProgram& program,
                         absl::Span<const Partitioner* const> partitioners,
                         std::vector<std::string>* notes = nullptr);

// Where lowering may stop.
enum class Stage : uint8_t {
  kAten,     // as it was exported; a TRAINING program is functional and ATEN from here on
  kEdge,     // edge programs, transform passes done
  kLowered,  // and delegates
};
// The programs at a stage, to be saved (exir/serialize/saved_programs.h), or changed and given to
// LowerPrograms, which goes on from there. Programs that are further than the stage stay as they
// are. Errors as LowerPrograms.
absl::StatusOr<MethodPrograms> LowerToStage(MethodPrograms methods, Stage stage,
                                            const PipelineOptions& options,
                                            PipelineReport* report = nullptr);

// Where a method comes from.
struct MethodArchive {
  std::string method, path;
  std::string model = {};  // ImportOptions::model_name, unless ""
};

// The programs of archives, or of saved programs (exir/model_file.h), within `options.limits`. Errors
// are annotated with the method.
absl::StatusOr<MethodPrograms> ImportMethods(const std::vector<MethodArchive>& methods,
                                             const OpRegistry& ops, const PipelineOptions& options,
                                             PipelineReport* report = nullptr);

// Archives → program, within `options.limits`. Errors are annotated with the phase, the method and
// the path. After ToEdge, after `options.transform_passes`, after each round and after
// `options.passes` every method is verified to be an edge program (kFailedPrecondition, VerifyEdge's
// message), but that operators need not be core: those without a kernel are listed when the program
// is emitted or loaded. After the last round, operators that no backend took and that have nothing but
// a composite implicit kernel become what it makes of them (PromoteBackendOps). Last, functions on
// scalars become executorch_prim operators (EdgeToBackendOps).
//   kInvalidArgument  options name a method that there is not; a constant method has the name of
//                     another method, returns nothing, or what is no number, bool or text
absl::StatusOr<ProgramImage> LowerFiles(const std::vector<MethodArchive>& methods,
                                        const OpRegistry& ops, const PipelineOptions& options,
                                        PipelineReport* report = nullptr);
// The same from programs already read.
absl::StatusOr<ProgramImage> LowerPrograms(MethodPrograms methods, const PipelineOptions& options,
                                           PipelineReport* report = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PIPELINE_H_
