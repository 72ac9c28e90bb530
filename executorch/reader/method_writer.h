// Translates a method to Belay's metadata message. The validators of runtime/program check it like
// the metadata of a program file.
#ifndef BELAY_EXECUTORCH_READER_METHOD_WRITER_H_
#define BELAY_EXECUTORCH_READER_METHOD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executorch/reader/method_facts.h"
#include "executorch/reader/program_file.h"
#include "runtime/core/memory_budget.h"
#include "runtime/program/program_parts.h"
#include "runtime/schema/program.pb.h"

namespace belay::pte {

// Collects the constants and blobs that methods refer to by index.
class PartsBuilder {
 public:
  PartsBuilder(const ProgramFile& file, ProgramParts& parts) : file_(file), parts_(parts) {}
  uint32_t AddConstant(absl::Span<const std::byte> bytes);
  // Returns the segment index of the blob; equal blobs share one segment.
  uint32_t AddBlob(absl::Span<const std::byte> bytes);
  const ProgramFile& file() const { return file_; }

 private:
  const ProgramFile& file_;
  ProgramParts& parts_;
  absl::flat_hash_map<std::pair<const std::byte*, size_t>, uint32_t> blobs_;
};

// Values keep their indices; lists and values that the file does not have are appended. Errors name
// the method, and the value, instruction or delegate.
//   kInvalidArgument    a dtype or memory format argument that is computed or not a valid number; a
//                       delegate without id or data, or with a compile spec without key or value
//   kUnimplemented      not expressible in Belay's instructions: a condition of several elements,
//                       an input that instructions compute
//   kResourceExhausted  `budget`, which is charged for source lines: many instructions may share a
//                       long file name
// `debug` receives the source lines of instructions where the file has them.
absl::Status WriteMethod(const MethodFacts& facts, PartsBuilder& parts, MemoryBudget& budget,
                         schema::Method& method, schema::MethodDebugInfo& debug);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_METHOD_WRITER_H_
