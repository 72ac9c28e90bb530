// Weights that are subclasses of tensors, as torchao's quantize_ makes them.
#ifndef BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_
#define BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Makes inputs of the attributes that the program reads of an input by
// export.access_subclass_inner_tensor: input `w` with the target "0.weight" becomes `w_qdata` with
// "0.weight.qdata" and so on, in the order in which they are read, of the kind and in the place of
// `w`. An input that is used in another way, too, stays. Source: docs/pt2-format.md §11.
void OpenTensorSubclasses(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TENSOR_SUBCLASSES_H_
