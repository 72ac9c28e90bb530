// Flattens weights that are tensor subclasses, as torchao's quantize_ creates them.
#ifndef BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_
#define BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Replaces a tensor-subclass input by its attributes that the program reads with
// export.access_subclass_inner_tensor. Input `w` with the target "0.weight" becomes `w_qdata` with
// "0.weight.qdata" and so on, in the order of the reads, with the kind and at the position of `w`.
// Inputs with other uses stay. Source: docs/pt2-format.md §11.
void OpenTensorSubclasses(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_
