// How much a file may ask for. Exceeding a limit is kResourceExhausted, naming the limit and both
// numbers.
#ifndef BELAY_RUNTIME_PROGRAM_LIMITS_H_
#define BELAY_RUNTIME_PROGRAM_LIMITS_H_

#include <cstdint>

namespace belay {

struct Limits {
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
  uint64_t arena_bytes = uint64_t{1} << 36;
  uint64_t scratch_bytes = uint64_t{1} << 32;
  // What all delegates of one method hold together, with the methods of programs inside of them.
  uint64_t delegate_bytes = uint64_t{1} << 36;
  // Instructions that one call of Method::Execute may run, with those inside of delegates; 0: no
  // limit.
  uint64_t executed_instructions = 100'000'000;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_LIMITS_H_
