#include "exir/functionalize/training_to_aten.h"

#include "exir/functionalize/batch_regions.h"
#include "exir/functionalize/functionalize.h"
#include "exir/functionalize/inline_regions.h"
#include "exir/functionalize/rebase_as_strided.h"

namespace belay::exir {
namespace {

Pass MarkAten() {
  return {"mark_aten", [](ExportedProgram& program) -> absl::StatusOr<bool> {
            const bool changed = program.dialect != IrDialect::kAten;
            program.dialect = IrDialect::kAten;
            return changed;
          }};
}

}  // namespace

std::vector<Pass> TrainingToAtenPasses(const DecomposeOptions& options) {
  return {InlineRegions(),   Decompose(options),           BatchRegions(),
          RebaseAsStrided(), Functionalize(options.table), Decompose(options),
          MarkAten()};
}

}  // namespace belay::exir
