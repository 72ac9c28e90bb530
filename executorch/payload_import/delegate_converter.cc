#include "executorch/payload_import/delegate_converter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/format/xnnpack_payload.h"
#include "executorch/payload_import/payload_program.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/arena.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

// Bytes from which on a block of memory has huge pages (runtime/core/arena.h).
constexpr uint64_t kHugePageBytes = uint64_t{4} << 20;

// The memory of converted delegates: results, and their small constants.
struct OwnedResults {
  exir::MethodResults results;
  AlignedBuffer small;
};

// Moves the constants below kHugePageBytes to one block, which has huge pages: each token reads all
// weights of a language model.
absl::Status MoveSmallConstants(OwnedResults& owned, std::vector<NamedDataPlan>& constants) {
  const auto is_small = [](absl::Span<const std::byte> bytes) {
    return bytes.size() < kHugePageBytes;
  };
  CheckedInt total = 0;
  const auto place = [&](const NamedDataPlan& constant) {
    const CheckedInt alignment(static_cast<int64_t>(constant.alignment));
    const CheckedInt offset = FloorDiv(total + alignment - CheckedInt(1), alignment) * alignment;
    total = offset + CheckedInt(static_cast<int64_t>(constant.bytes.size()));
    return offset;
  };
  for (const NamedDataPlan& constant : constants) {
    if (is_small(constant.bytes)) place(constant);
  }
  if (!total.ok() || total.value() < static_cast<int64_t>(kHugePageBytes)) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(owned.small, AlignedBuffer::Create(static_cast<uint64_t>(total.value())));
  total = 0;
  for (NamedDataPlan& constant : constants) {
    if (!is_small(constant.bytes) || constant.bytes.empty()) continue;
    std::byte* const to = owned.small.data() + place(constant).value();
    std::copy(constant.bytes.begin(), constant.bytes.end(), to);
    constant.bytes = absl::MakeConstSpan(to, constant.bytes.size());
  }
  for (auto& [method, partitions] : owned.results) {
    for (exir::PreprocessResult& result : partitions) {
      for (exir::Storage& buffer : result.named_data.buffers) {
        if (is_small(buffer.bytes)) buffer = {};
      }
    }
  }
  return absl::OkStatus();
}

class Converter {
 public:
  Converter(const exir::OpRegistry& ops, const exir::Backend& backend, int threads)
      : ops_(ops), backend_(backend), threads_(threads) {}

  absl::StatusOr<ConvertedDelegates> operator()(absl::Span<const ForeignDelegate> delegates,
                                                const NamedDataMap& named_data,
                                                const Limits& limits, uint64_t file_bytes) const {
    Budget budget;
    std::optional<Budget::Scope> scope;
    if (Budget::Current() == nullptr) {
      exir::AllowLowering({}, file_bytes, budget);
      scope.emplace(&budget);
    }
    MemoryBudget memory("delegate_bytes", limits.delegate_bytes);
    exir::MethodPartitions methods;
    std::vector<size_t> imported;  // indices in `delegates`
    ConvertedDelegates converted;
    for (size_t i = 0; i < delegates.size(); ++i) {
      const ForeignDelegate& delegate = delegates[i];
      if (delegate.backend_id != xnnpack::kBackendId) continue;
      absl::StatusOr<exir::ExportedProgram> program = Import(delegate, named_data, memory);
      const std::string place =
          absl::StrCat("method ", Quoted(delegate.method), ", delegate ", delegate.index);
      if (absl::IsUnimplemented(program.status())) {
        converted.notes.push_back(absl::StrCat(place, " stays with ", xnnpack::kBackendId, ": ",
                                               program.status().message()));
        continue;
      }
      if (!program.ok()) return Annotate(program.status(), place);
      if (methods.empty() || methods.back().first != delegate.method) {
        methods.emplace_back(delegate.method, std::vector<exir::PartitionInput>());
      }
      methods.back().second.push_back(
          {*std::move(program), {}, absl::StrCat("delegate ", delegate.index)});
      imported.push_back(i);
    }
    converted.delegates.resize(delegates.size());
    if (methods.empty()) return converted;
    auto owned = std::make_shared<OwnedResults>();
    ABSL_ASSIGN_OR_RETURN(owned->results,
                          backend_.PreprocessMultimethod(std::move(methods), threads_));
    Collect(owned->results, imported, converted);
    ABSL_RETURN_IF_ERROR(MoveSmallConstants(*owned, converted.named_data));
    converted.owner = std::move(owned);
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
  const int threads_;
};

}  // namespace

DelegateConverter XnnpackConverter(const exir::OpRegistry& ops, const exir::Backend& backend,
                                   int threads) {
  return Converter(ops, backend, threads);
}

}  // namespace belay::pte
