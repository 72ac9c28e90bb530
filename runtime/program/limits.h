// Resource limits of a file. Exceeding one is kResourceExhausted, naming the limit and both values.
// The defaults suit a service that accepts untrusted files: docs/hardening.md §5.
#ifndef BELAY_RUNTIME_PROGRAM_LIMITS_H_
#define BELAY_RUNTIME_PROGRAM_LIMITS_H_

#include <cstdint>

namespace belay {

struct Limits {
  // The limit is proportional to the size of the file and its companions, as described in
  // docs/hardening.md §5: larger models get larger limits. Program::limits() has the value. A
  // program inside a delegate is limited to what remains of the enclosing method's limit.
  static constexpr uint64_t kInProportion = UINT64_MAX;

  uint64_t file_bytes = uint64_t{1} << 40;
  uint64_t metadata_bytes = uint64_t{256} << 20;
  uint64_t nesting = 20;  // nested messages or groups in the metadata
  uint64_t segments = 1 << 20;
  uint64_t methods = 4096;
  uint64_t values = 1 << 24;         // per method
  uint64_t tensors = 1 << 22;        // per method, among its values
  uint64_t instructions = 1 << 24;   // per method
  uint64_t list_elements = 1 << 24;  // per method, sum over its lists
  uint64_t operands = 1 << 24;       // per method, list elements counted at each use
  // Per method: arena, state, and copies made by Method::Load (inputs that may be passed in another
  // dim order, constants of a file whose bytes are misaligned). Shared state has a separate limit
  // of the same size.
  //
  // If tensors have dynamic sizes, a large arena counts by the pages that calls use: those of the
  // actual sizes, not of the bounds. Method::Execute then checks the limit.
  uint64_t arena_bytes = kInProportion;
  // Address space per method, for tensors of dynamic sizes at their bounds.
  uint64_t reserved_bytes = uint64_t{1} << 44;
  uint64_t scratch_bytes = kInProportion;
  // Memory of all delegates of one method, including the methods of programs inside them.
  uint64_t delegate_bytes = kInProportion;
  // Instructions per call of Method::Execute, including those inside delegates; 0: unlimited.
  uint64_t executed_instructions = 100'000'000;
  // Work per call of Method::Execute, including that inside delegates, in multiply-adds or
  // operations of similar cost (runtime/kernel_interface/work.h).
  uint64_t executed_work = kInProportion;
};

// Replaces kInProportion by the limits for a file of this size.
Limits LimitsOfFile(const Limits& limits, uint64_t file_bytes);
// Limits of a program inside a delegate.
Limits LimitsOfDelegate(const Limits& limits);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_LIMITS_H_
