// The CPU backend's own operators, belay_cpu::*: what its passes make of others and its kernels
// compute. Their calls are in backends/cpu/calls.h and quantized_calls.h.
//
// They are backend operators (docs/lowering.md §5.2): they stand in the programs inside of
// delegates, which otherwise consist of standard operators, and nowhere else.
#ifndef BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_
#define BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/op/op_def.h"
#include "exir/op/op_registry.h"

namespace belay::cpu {

absl::Span<const exir::OpDef> CpuOpDefs();

// Adds the operators to a registry, so that texts with them can be parsed. Errors as
// OpRegistry::Define.
absl::Status AddCpuOps(exir::OpRegistry& ops);

// The overload that passes put into programs: CpuOp("linear") is backend.belay_cpu.linear.default.
// It is of a registry of these operators alone, which lives as long as the process; programs of any
// registry may have it. Precondition: there is one.
const exir::OpOverload* CpuOp(std::string_view op);

// Whether the node's operator is this one, of whichever registry: IsCpuOp(*target, "linear").
bool IsCpuOp(const exir::OpOverload& target, std::string_view op);
// Whether it is any of those that end with an epilogue (backends/cpu/calls.h, quantized_calls.h).
bool HasEpilogue(const exir::OpOverload& target);
// Whether it is any of those that quantize their result.
bool IsQuantized(const exir::OpOverload& target);
// Whether it is a convolution or a pool, which wants images channels last and makes such.
bool IsOverImages(const exir::OpOverload& target);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_OPS_CPU_OPS_H_
