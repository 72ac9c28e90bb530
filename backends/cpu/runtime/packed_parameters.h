// Packs replaceable weights when a delegate is initialized.
#ifndef BELAY_BACKENDS_CPU_RUNTIME_PACKED_PARAMETERS_H_
#define BELAY_BACKENDS_CPU_RUNTIME_PACKED_PARAMETERS_H_

#include <cstddef>
#include <deque>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"

namespace belay::cpu {

// The named data of a program, and weights packed from it (packed_parameter.h). Used by one thread.
class PackedParameters final : public NamedDataMap {
 public:
  // Both must outlive this object, until the blob is opened.
  PackedParameters(const NamedDataMap& program, MemoryBudget& memory)
      : program_(program), memory_(memory) {}

  // Packs the weight if `key` is the name of a packed parameter. The bytes are valid as long as this
  // object. O(bytes).
  //   kNotFound           the program has no data of the key, or of the parameter
  //   kInvalidArgument    a malformed name; data of another size than the name says; sizes that the
  //                       layout does not support
  //   kResourceExhausted  memory, or the budget
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override;

 private:
  const NamedDataMap& program_;
  MemoryBudget& memory_;
  mutable std::deque<AlignedBuffer> packed_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_RUNTIME_PACKED_PARAMETERS_H_
