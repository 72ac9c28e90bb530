#include "runtime/executor/instruction_source.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/program/metadata_messages.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

constexpr uint32_t kDebugInfoNesting = 20;

// Returns false if the element is missing or malformed: debug information is not validated at load.
template <class Message>
bool ReadElement(const WireList& list, uint64_t index, Message& message) {
  if (index >= list.count) return false;
  WireElements elements(list);
  for (uint64_t i = 0; i < index; ++i) elements.NextMessage();
  return Read(elements.NextMessage(), MetadataPath(), message).ok();
}

}  // namespace

std::string InstructionSource(const Program& program, const MethodPlan& method,
                              size_t instruction) {
  const MetadataPath root;
  DebugInfoMessage debug;
  MethodDebugInfoMessage info;
  InstructionDebugInfoMessage source;
  const WireMessage bytes = {
      .bytes = program.debug_info(), .nesting = kDebugInfoNesting, .depth = 0};
  const size_t index = static_cast<size_t>(&method - program.methods().data());
  if (!Read(bytes, root, debug).ok() || !ReadElement(debug.methods, index, info) ||
      !ReadElement(info.instructions, instruction, source)) {
    return "";
  }
  std::string text;
  if (!source.node.empty()) absl::StrAppend(&text, " from node ", Quoted(source.node));
  if (!source.source.empty()) absl::StrAppend(&text, " at ", Quoted(source.source));
  if (!source.module.empty()) absl::StrAppend(&text, " in module ", Quoted(source.module));
  return text;
}

}  // namespace belay
