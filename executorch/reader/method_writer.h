// A method in Belay's words: the message that the validators of runtime/program check as they check
// a program file's own.
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

// Where methods put what they refer to by index.
class PartsBuilder {
 public:
  PartsBuilder(const ProgramFile& file, ProgramParts& parts) : file_(file), parts_(parts) {}
  uint32_t AddConstant(absl::Span<const std::byte> bytes);
  // The segment that is this blob; each is there once.
  uint32_t AddBlob(absl::Span<const std::byte> bytes);
  const ProgramFile& file() const { return file_; }

 private:
  const ProgramFile& file_;
  ProgramParts& parts_;
  absl::flat_hash_map<std::pair<const std::byte*, size_t>, uint32_t> blobs_;
};

// Values keep their indices; lists and what the file has no value for come behind them. Errors name
// the method, and the value, instruction or delegate.
//   kInvalidArgument    a dtype or memory format of an argument that is no such number, or
//                       computed; a delegate without id, data, or with a compile spec without key or
//                       value
//   kUnimplemented      what Belay's instructions do not express: a condition of several elements,
//                       an input that instructions compute
//   kResourceExhausted  `budget`, from which source lines are taken: many instructions may share the
//                       long name of a file
// `debug` gets the source lines of the instructions, as far as the file says them.
absl::Status WriteMethod(const MethodFacts& facts, PartsBuilder& parts, MemoryBudget& budget,
                         schema::Method& method, schema::MethodDebugInfo& debug);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_METHOD_WRITER_H_
