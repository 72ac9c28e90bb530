// The report of a lowering: phases, passes, memory, and what was delegated or left over, and why.
#ifndef BELAY_EXIR_PIPELINE_REPORT_H_
#define BELAY_EXIR_PIPELINE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/ir/exported_program.h"
#include "exir/method_state.h"
#include "exir/pass_manager/pass_manager.h"

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
  // Sum of the costs of one call of each of its delegates. Generic kernels with the most bytes are
  // first; those with equal bytes are sorted by operator.
  DelegateCost cost = {};
};
// Diagnostics of a backend about one delegate (PreprocessResult::delegate_info), split into lines.
struct DelegateInfo {
  std::string method, backend_id, node;  // the delegate call
  std::vector<std::string> lines;
};
// An assumption of the exporter about a method's inputs that the program does not check
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
  std::vector<DelegateInfo> delegate_info;  // only delegates whose backend reports something
  std::vector<UncheckedGuard> unchecked_guards;
  std::vector<StateReport> state;  // buffers that methods write to, with the methods that have them
  // Warnings, one line each: probably unintended input that has one safe interpretation
  // (ImportOptions::notes, ToBackendOptions::notes), and operators that a partitioner asked to
  // preserve but that are decomposed anyway.
  std::vector<std::string> notes;
};

// Adds the delegates and the nodes left over of lowered methods to `report`. `rejections` are those of
// the partitioners. O(nodes, also those of delegates).
void ReportDelegation(const MethodPrograms& methods, const std::vector<RejectedNode>& rejections,
                      PipelineReport& report);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PIPELINE_REPORT_H_
