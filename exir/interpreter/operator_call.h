// Calls one operator on run-time values: infers result types, allocates the results, runs the
// kernel.
#ifndef BELAY_EXIR_INTERPRETER_OPERATOR_CALL_H_
#define BELAY_EXIR_INTERPRETER_OPERATOR_CALL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/buffer_pool.h"
#include "exir/interpreter/owned_value.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// An argument: a run-time value, a literal, or a list of either.
struct Operand {
  OwnedValue* datum = nullptr;  // must outlive the call; in-place operators write to it
  MetaValue literal;            // if neither datum nor list; kernels never see layouts and devices
  std::optional<std::vector<Operand>> list;

  static Operand Of(OwnedValue* datum) { return {.datum = datum, .literal = {}, .list = {}}; }
  static Operand Literal(MetaValue value) {
    return {.datum = nullptr, .literal = std::move(value), .list = {}};
  }
  static Operand List(std::vector<Operand> elements) {
    return {.datum = nullptr, .literal = {}, .list = std::move(elements)};
  }
};

// One return of an operator.
struct CallResult {
  bool is_list = false;
  std::vector<OwnedValue> values;  // exactly one unless it is a list; `none` for undefined tensors
};

struct CallOptions {
  // Restricts kernels to one engine; any if empty.
  std::optional<KernelEngine> engine = KernelEngine::kReference;
  uint64_t max_tensor_bytes = uint64_t{4} << 30;
  // View operators ("Tensor(a)" results) return views of their argument's memory. If false, they
  // return copies.
  bool views = true;
  // Operators that copy the bytes of their first argument (kKeepsBytes, kReshapesBytes) return its
  // memory instead, where strides permit. Precondition: nothing writes to either.
  bool share_copies = false;
  ThreadPool* threads = nullptr;  // InterpreterOptions::threads
  // Memory of results and of kernels; freshly allocated if null.
  BufferPool* pool = nullptr;
};

// `arguments` are in schema order with defaults filled in.
//   kUnimplemented      the operator has no schema or meta kernel, or no kernel supports the call
//   kFailedPrecondition the call writes to a read-only value
//   kResourceExhausted  a result is larger than the limit
//   errors of the meta kernel and of the kernel
absl::StatusOr<std::vector<CallResult>> CallOperator(const OpOverload& op,
                                                     absl::Span<Operand> arguments,
                                                     const KernelRegistry& kernels,
                                                     const CallOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_OPERATOR_CALL_H_
