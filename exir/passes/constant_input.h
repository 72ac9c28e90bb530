// Tensors that a pass adds to a program.
#ifndef BELAY_EXIR_PASSES_CONSTANT_INPUT_H_
#define BELAY_EXIR_PASSES_CONSTANT_INPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {

// "<prefix><n>" with the first n from `next` on that names no tensor of the program. Moves `next`
// behind it.
std::string UnusedTensorName(const ExportedProgram& program, std::string_view prefix, int& next);

// The position of the first input that is the user's: parameters, buffers and constants are before
// it.
size_t EndOfConstants(const ExportedProgram& program);

// Makes an input of the top graph, of which `top` is an editor, and of the signature. Its tensor,
// called `target`, is the caller's to add: a buffer to the state, a constant to the constants.
ValueId InsertConstantInput(ExportedProgram& program, GraphEditor& top, size_t position,
                            std::string_view name, std::string_view target, ValueType type,
                            InputKind kind = InputKind::kTensorConstant);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_CONSTANT_INPUT_H_
