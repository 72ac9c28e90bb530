// Definitions of the CPU backend's own operators, belay_cpu::*, which its passes emit and its
// kernels compute. Their calls are in backends/cpu/calls.h and quantized_calls.h.
//
// They are backend operators (docs/lowering.md §5.2): they occur only in programs inside delegates,
// together with standard operators.
#ifndef BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_
#define BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/op_definition/op_def.h"
#include "exir/op_definition/op_registry.h"

namespace belay::cpu {

absl::Span<const exir::OpDef> CpuOpDefs();

// Adds the operators to a registry, so that strings with them can be parsed. Errors as
// OpRegistry::Define.
absl::Status AddCpuOps(exir::OpRegistry& ops);

// Returns the overload that passes insert: CpuOp("linear") is backend.belay_cpu.linear.default. Its
// registry has only these operators and lives as long as the process. Programs of any registry may
// use it. Precondition: the operator exists.
const exir::OpOverload* CpuOp(std::string_view op);

// Whether `target` is the operator `op`, of any registry: IsCpuOp(*target, "linear").
bool IsCpuOp(const exir::OpOverload& target, std::string_view op);
// Whether the operator ends with an epilogue (backends/cpu/calls.h, quantized_calls.h).
bool HasEpilogue(const exir::OpOverload& target);
// Whether the operator has an output quantization.
bool IsQuantized(const exir::OpOverload& target);
// Whether the operator is a convolution or pool, which expects and returns channels last images.
bool IsOverImages(const exir::OpOverload& target);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_
