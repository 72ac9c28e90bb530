#include "executorch/payload_import/delegate_converter.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/format/xnnpack_payload.h"
#include "executorch/payload_import/payload_program.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

class Converter {
 public:
  Converter(const exir::OpRegistry& ops, const exir::Backend& backend)
      : ops_(ops), backend_(backend) {}

  absl::StatusOr<ConvertedDelegates> operator()(absl::Span<const ForeignDelegate> delegates,
                                                const NamedDataMap& named_data,
                                                const Limits& limits, uint64_t file_bytes) const {
    Budget budget;
    exir::AllowLowering({}, file_bytes, budget);
    const Budget::Scope scope(&budget);
    MemoryBudget memory("delegate_bytes", limits.delegate_bytes);
    exir::MethodPartitions methods;
    std::vector<size_t> imported;  // indices in `delegates`
    for (size_t i = 0; i < delegates.size(); ++i) {
      const ForeignDelegate& delegate = delegates[i];
      if (delegate.backend_id != xnnpack::kBackendId) continue;
      absl::StatusOr<exir::ExportedProgram> program = Import(delegate, named_data, memory);
      if (absl::IsUnimplemented(program.status())) continue;
      if (!program.ok()) {
        return Annotate(program.status(), absl::StrCat("method ", Quoted(delegate.method),
                                                       ", delegate ", delegate.index));
      }
      if (methods.empty() || methods.back().first != delegate.method) {
        methods.emplace_back(delegate.method, std::vector<exir::PartitionInput>());
      }
      methods.back().second.push_back(
          {*std::move(program), {}, absl::StrCat("delegate ", delegate.index)});
      imported.push_back(i);
    }
    ConvertedDelegates converted;
    converted.delegates.resize(delegates.size());
    if (methods.empty()) return converted;
    auto results = std::make_shared<exir::MethodResults>();
    ABSL_ASSIGN_OR_RETURN(*results, backend_.PreprocessMultimethod(std::move(methods), 1));
    Collect(*results, imported, converted);
    converted.owner = std::move(results);
    return converted;
  }

 private:
  absl::StatusOr<exir::ExportedProgram> Import(const ForeignDelegate& delegate,
                                               const NamedDataMap& named_data,
                                               MemoryBudget& memory) const {
    ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram program,
                          PayloadProgram(delegate.payload, named_data, delegate.arguments,
                                         delegate.outputs, ops_, memory));
    return exir::ToEdge(std::move(program));
  }

  // Views of the results; the bytes of equal named data are stored once by the backend.
  void Collect(const exir::MethodResults& results, absl::Span<const size_t> imported,
               ConvertedDelegates& converted) const {
    auto index = imported.begin();
    absl::btree_map<std::string, NamedDataPlan> named;
    for (const auto& [method, partitions] : results) {
      for (const exir::PreprocessResult& result : partitions) {
        converted.delegates[*index++] =
            ConvertedDelegate{std::string(backend_.id()), result.processed.bytes};
        for (const auto& [key, entry] : result.named_data.program_data) {
          named.try_emplace(key, NamedDataPlan{key, result.named_data.buffers[entry.buffer].bytes,
                                               entry.alignment});
        }
      }
    }
    for (auto& [key, plan] : named) converted.named_data.push_back(std::move(plan));
  }

  const exir::OpRegistry& ops_;
  const exir::Backend& backend_;
};

}  // namespace

DelegateConverter XnnpackConverter(const exir::OpRegistry& ops, const exir::Backend& backend) {
  return Converter(ops, backend);
}

}  // namespace belay::pte
