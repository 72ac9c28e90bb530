// Names of replaceable weights that the runtime packs when it initializes a delegate.
#ifndef BELAY_BACKENDS_CPU_PACKED_PARAMETER_H_
#define BELAY_BACKENDS_CPU_PACKED_PARAMETER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cpu/table_layout.h"

namespace belay::cpu {

// A constant of the blob: B[p, j] of a matmul A * B, packed in `layout` from named data of the
// program. B[p, j] = data[p * n + j], or data[j * k + p] if `transposed`.
struct PackedParameter {
  TableLayout layout = TableLayout::kFloat32;  // kFloat32 or kVnni2
  int64_t k = 0, n = 0;
  bool transposed = false;
  std::string_view parameter = {};  // the key of the named data
};

// Returns "belay_cpu.packed/f32/K/N/n/PARAMETER", with "t" instead of "n" if transposed.
std::string NameOf(const PackedParameter& packed);

// Whether a constant of the blob is a packed parameter. Other names are keys of the program.
bool IsPackedParameter(std::string_view name);

// Parses a name, which may be untrusted; the result refers to it. nullopt if it is not as NameOf
// writes it, with k and n from 1 to INT64_MAX.
std::optional<PackedParameter> ParsePackedParameter(std::string_view name);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_PACKED_PARAMETER_H_
