#include "exir/passes/refresh_layouts.h"

#include "exir/ir/infer.h"

namespace belay::exir {

Pass RefreshLayoutsPass() { return {"refresh_layouts", RefreshLayouts}; }

}  // namespace belay::exir
