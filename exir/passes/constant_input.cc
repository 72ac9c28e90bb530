#include "exir/passes/constant_input.h"

#include <cstddef>
#include <utility>

#include "runtime/core/str_cat.h"

namespace belay::exir {

std::string UnusedTensorName(const ExportedProgram& program, std::string_view prefix, int& next) {
  std::string name;
  do {
    name = absl::StrCat(prefix, next++);
  } while (program.state_dict.contains(name) || program.constants.contains(name));
  return name;
}

size_t EndOfConstants(const ExportedProgram& program) {
  size_t position = 0;
  while (position < program.signature.inputs.size() &&
         program.signature.inputs[position].kind != InputKind::kUserInput) {
    ++position;
  }
  return position;
}

ValueId InsertConstantInput(ExportedProgram& program, GraphEditor& top, size_t position,
                            std::string_view name, std::string_view target, ValueType type,
                            InputKind kind) {
  const ValueId input = top.InsertInput(position, name, std::move(type));
  program.signature.inputs.insert(
      program.signature.inputs.begin() + static_cast<std::ptrdiff_t>(position),
      {.kind = kind, .target = std::string(target), .persistent = true});
  return input;
}

}  // namespace belay::exir
