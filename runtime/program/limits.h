// How much a file may ask for. Exceeding a limit is kResourceExhausted, naming the limit and both
// numbers. The defaults are those of a service that takes files from anybody: docs/hardening.md §5.
#ifndef BELAY_RUNTIME_PROGRAM_LIMITS_H_
#define BELAY_RUNTIME_PROGRAM_LIMITS_H_

#include <cstdint>

namespace belay {

struct Limits {
  // In proportion to the bytes of the file and its companions, as docs/hardening.md §5 says: who
  // sends a large model may ask for more. Program::limits() has the number. A program inside of a
  // delegate is held to what is left to the method around it.
  static constexpr uint64_t kInProportion = UINT64_MAX;

  uint64_t file_bytes = uint64_t{1} << 40;
  uint64_t metadata_bytes = uint64_t{256} << 20;
  uint64_t nesting = 20;  // messages, or groups, within messages of the metadata
  uint64_t segments = 1 << 20;
  uint64_t methods = 4096;
  uint64_t values = 1 << 24;         // per method
  uint64_t tensors = 1 << 22;        // per method, of its values
  uint64_t instructions = 1 << 24;   // per method
  uint64_t list_elements = 1 << 24;  // per method, all lists together
  uint64_t operands = 1 << 24;       // per method, with a list's elements at each use
  // One method's arena and state, and what Method::Load copies: inputs that the caller may give in
  // another order, constants of a file whose bytes are misaligned. State that methods share: as
  // much again.
  uint64_t arena_bytes = kInProportion;
  uint64_t scratch_bytes = kInProportion;
  // What all delegates of one method hold together, with the methods of programs inside of them.
  uint64_t delegate_bytes = kInProportion;
  // Instructions that one call of Method::Execute may run, with those inside of delegates; 0: no
  // limit.
  uint64_t executed_instructions = 100'000'000;
  // Work that one call of Method::Execute may do, with that inside of delegates, in multiply-adds or
  // what takes as long (runtime/kernel/work.h).
  uint64_t executed_work = kInProportion;
};

// The limits with numbers in the place of kInProportion, for a file of so many bytes.
Limits LimitsOfFile(const Limits& limits, uint64_t file_bytes);
// For a program inside of a delegate.
Limits LimitsOfDelegate(const Limits& limits);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_LIMITS_H_
