#ifndef BELAY_EXIR_PASSES_REFRESH_LAYOUTS_H_
#define BELAY_EXIR_PASSES_REFRESH_LAYOUTS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Infers the layout of every value again (exir/ir/infer.h) after operators changed.
Pass RefreshLayoutsPass();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_REFRESH_LAYOUTS_H_
