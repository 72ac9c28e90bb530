#include "exir/emit/emitter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/emit/constant_pool.h"
#include "exir/emit/memory_bank.h"
#include "exir/emit/method_builder.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/refused_node.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/schema/release.h"

namespace belay::exir {
namespace {

// Collects the named data of the program's delegates. Delegates nested in them are excluded. Their
// enclosing backend merges their data into its own, or stores it in its blob.
void CollectNamedData(const ExportedProgram& program, std::vector<const NamedDataOutput*>& out) {
  for (const auto& module : program.lowered_modules) {
    out.push_back(&module->named_data);
  }
}

MethodBuilder::ChangedBuffers FindChangedBuffers(const MethodPrograms& methods) {
  MethodBuilder::ChangedBuffers changed;
  if (methods.size() < 2) return changed;
  for (const auto& [name, program] : methods) {
    const absl::btree_set<std::string_view> mutated = MutatedState(program.signature);
    for (const InputSpec& spec : program.signature.inputs) {
      if (!mutated.contains(spec.target)) continue;
      if (const ConstantTensor* initial = program.FindConstant(spec)) {
        changed[spec.target].push_back(initial);
      }
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<ProgramImage> EmitProgram(const MethodPrograms& methods, const EmitOptions& options,
                                         std::vector<MemoryReport>* memory) {
  ABSL_RETURN_IF_ERROR(CheckBanks(options.memory.banks));
  std::vector<const std::pair<std::string, ExportedProgram>*> sorted;
  for (const auto& method : methods) sorted.push_back(&method);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto& [method, planner] : options.planners) {
    if (absl::c_any_of(sorted, [&](const auto* one) { return one->first == method; })) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "memory planner '", planner, "': unknown method '", absl::CHexEscape(method), "'"));
  }
  ProgramImage image;
  image.metadata.set_producer(absl::StrCat("belay ", kRelease));
  ConstantPool pool(&image, options.name_constant);
  const MethodBuilder::ChangedBuffers changed = FindChangedBuffers(methods);
  std::vector<const NamedDataOutput*> named_data;
  std::vector<std::string> unsupported;
  std::vector<RefusedNode> refused;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto& [name, program] = *sorted[i];
    if (name.empty() || !IsUtf8(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("method '", absl::CHexEscape(name),
                       name.empty() ? "': a method has a name" : "': the name is not UTF-8"));
    }
    if (i > 0 && sorted[i - 1]->first == name) {
      return absl::InvalidArgumentError(absl::StrCat("two methods are named '", name, "'"));
    }
    if (program.dialect != IrDialect::kEdge) {
      return absl::InvalidArgumentError(absl::StrCat(
          "method '", name, "' is of the ", std::string(IrDialectName(program.dialect)),
          " dialect; only edge programs can be emitted"));
    }
    absl::StatusOr<WrittenMethod> written =
        MethodBuilder(name, program, changed, options, pool).Build();
    if (absl::IsUnimplemented(written.status())) {
      // Collect the errors of all methods.
      const absl::Status status = InMethod(written.status(), name);
      unsupported.push_back(std::string(FromAbsl(status.message())));
      const std::vector<RefusedNode> nodes = RefusedNodesOf(status);
      refused.insert(refused.end(), nodes.begin(), nodes.end());
      continue;
    }
    if (!written.ok()) return InMethod(written.status(), name);
    if (!unsupported.empty()) continue;
    MethodMemoryOptions memory_options = options.memory;
    const auto planner = options.planners.find(name);
    if (planner != options.planners.end()) memory_options.planner = planner->second;
    ABSL_ASSIGN_OR_RETURN(MethodMemory arranged, ArrangeMemory(*written, memory_options));
    if (memory != nullptr) {
      memory->push_back({.method = name,
                         .memory = std::move(arranged),
                         .state_bytes = written->method.state_bytes()});
    }
    *image.metadata.add_methods() = std::move(written->method);
    if (options.debug_info) *image.debug.add_methods() = std::move(written->debug);
    CollectNamedData(program, named_data);
  }
  if (!unsupported.empty()) {
    absl::Status status = absl::UnimplementedError(absl::StrJoin(unsupported, "\n"));
    AddRefusedNodes(refused, status);
    return status;
  }
  if (options.named_data != nullptr) named_data.push_back(options.named_data);
  ABSL_RETURN_IF_ERROR(pool.AddNamedData(named_data));
  return image;
}

}  // namespace belay::exir
