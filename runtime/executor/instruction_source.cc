#include "runtime/executor/instruction_source.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/program.pb.h"

namespace belay {

std::string InstructionSource(const Program& program, const MethodPlan& method,
                              size_t instruction) {
  const absl::Span<const std::byte> bytes = program.debug_info();
  if (bytes.empty() || bytes.size() > program.limits().metadata_bytes || bytes.size() > INT32_MAX) {
    return "";
  }
  // Of two bytes the parser makes the largest of its objects here, and a pointer in a list.
  MemoryBound bound;
  bound.Add(bytes.size(), sizeof(schema::DelegateDebugInfo_Entry) + 64);
  static_assert(sizeof(schema::InstructionDebugInfo) <=
                2 * sizeof(schema::DelegateDebugInfo_Entry));
  if (!CheckMemory(bound.bytes(), "debug information").ok()) return "";
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const google::protobuf::uint8*>(bytes.data()),
      static_cast<int>(bytes.size()));
  input.SetRecursionLimit(20);
  schema::DebugInfo debug;
  if (!debug.ParseFromCodedStream(&input)) return "";
  const size_t index = static_cast<size_t>(&method - program.methods().data());
  if (index >= static_cast<size_t>(debug.methods_size())) return "";
  const schema::MethodDebugInfo& info = debug.methods(static_cast<int>(index));
  if (instruction >= static_cast<size_t>(info.instructions_size())) return "";
  const schema::InstructionDebugInfo& source = info.instructions(static_cast<int>(instruction));
  std::string text;
  if (!source.node().empty()) absl::StrAppend(&text, " from node ", Quoted(source.node()));
  if (!source.source().empty()) absl::StrAppend(&text, " at ", Quoted(source.source()));
  if (!source.module().empty()) absl::StrAppend(&text, " in module ", Quoted(source.module()));
  return text;
}

}  // namespace belay
