// The named data of a program file, for the programs in its delegates.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_NAMED_DATA_H_
#define BELAY_TOOLS_BELAY_PROGRAM_NAMED_DATA_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/runtime/packed_parameters.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"
#include "runtime/program/program.h"

namespace belay::tools {

// The maximum depth of programs in delegates that commands follow.
inline constexpr int kMaxNesting = 8;

// Includes weights that the CPU backend packs when the program is loaded. `program` must outlive it.
class ProgramNamedData final : public NamedDataMap {
 public:
  explicit ProgramNamedData(const Program& program)
      : own_(program),
        memory_("delegate_bytes", program.limits().delegate_bytes),
        packed_(own_, memory_) {}
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    return packed_.Find(key);
  }

 private:
  class Own final : public NamedDataMap {
   public:
    explicit Own(const Program& program) : program_(program) {}
    absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
      return program_.FindNamedData(key);
    }

   private:
    const Program& program_;
  };
  Own own_;
  MemoryBudget memory_;
  cpu::PackedParameters packed_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_NAMED_DATA_H_
