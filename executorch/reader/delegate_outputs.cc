#include "executorch/reader/delegate_outputs.h"

#include <algorithm>

#include "executorch/format/xnnpack_payload.h"
#include "executorch/format/xnnpack_payload_generated.h"
#include "runtime/core/arena.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {

absl::StatusOr<std::optional<uint32_t>> DelegateOutputs(std::string_view backend_id,
                                                        absl::Span<const std::byte> payload,
                                                        MemoryBudget& budget) {
  if (backend_id != xnnpack::kBackendId) return std::nullopt;
  const absl::StatusOr<xnnpack::PayloadParts> parts = xnnpack::SplitPayload(payload);
  // XN00 tables hold the weights; the backend refuses them anyway.
  if (!parts.ok() || !xnnpack::HasGraphIdentifier(parts->flatbuffer)) return std::nullopt;
  ABSL_RETURN_IF_ERROR(budget.Take(parts->flatbuffer.size(), "the tables of a delegate"));
  ABSL_ASSIGN_OR_RETURN(const AlignedBuffer tables,
                        AlignedBuffer::Create(parts->flatbuffer.size()));
  std::copy(parts->flatbuffer.begin(), parts->flatbuffer.end(), tables.data());
  const absl::StatusOr<const xnnpack::fb::Graph*> graph = xnnpack::VerifiedGraph(tables);
  if (!graph.ok() || (*graph)->values() == nullptr) return std::nullopt;
  const auto& values = *(*graph)->values();
  return static_cast<uint32_t>(
      std::count_if(values.begin(), values.end(), [](const xnnpack::fb::Value* value) {
        const xnnpack::fb::QuantizedTensorValue* quantized = value->value_as_QuantizedTensorValue();
        const xnnpack::fb::TensorValue* tensor =
            quantized != nullptr ? quantized->tensor_value() : value->value_as_TensorValue();
        return tensor != nullptr && tensor->flags() == xnnpack::kExternalOutput;
      }));
}

}  // namespace belay::pte
