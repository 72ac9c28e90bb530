// Reads ExecuTorch's bundled programs, .bpte (docs/pte-format.md §15).
#ifndef BELAY_EXECUTORCH_READER_BUNDLED_PROGRAM_H_
#define BELAY_EXECUTORCH_READER_BUNDLED_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/format/bundled_program.h"
#include "runtime/core/arena.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Returns whether the bytes have a bundled program's identifier. Checks nothing else.
bool IsBundledProgram(absl::Span<const std::byte> file);

// A value type; copies share the bytes. The program is not opened.
class BundledProgram {
 public:
  // Copies the file and reads its test cases. Reports all broken rules.
  //   kDataLoss           not a bundled program, or damaged
  //   kUnimplemented      another version of the format; a dtype that Belay does not have
  //   kInvalidArgument    a value without content, a tensor with less data than its sizes need or
  //                       with misaligned data, two suites of one method, no program
  //   kResourceExhausted  Limits::file_bytes, 2 GiB (a FlatBuffer), or not enough memory
  static absl::StatusOr<BundledProgram> Read(absl::Span<const std::byte> file,
                                             const Limits& limits);

  // The bytes of the program (.pte).
  absl::Span<const std::byte> program() const { return program_; }
  // Methods with test cases, in the order of the file. Tensors point to bytes of `owner`.
  const std::vector<BundledMethod>& methods() const { return methods_; }
  std::shared_ptr<const void> owner() const { return bytes_; }

 private:
  BundledProgram() = default;

  std::shared_ptr<const AlignedBuffer> bytes_;
  absl::Span<const std::byte> program_;
  std::vector<BundledMethod> methods_;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_BUNDLED_PROGRAM_H_
