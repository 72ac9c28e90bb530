// A pass: a named function that changes a program in place.
#ifndef BELAY_EXIR_PASS_MANAGER_PASS_H_
#define BELAY_EXIR_PASS_MANAGER_PASS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// A value type. `run` returns whether it changed the program. On error the program is unspecified
// but valid to destroy (the pass manager runs passes on a clone of its caller's program).
struct Pass {
  std::string name;  // "replace_view_ops", as --dump-after takes it
  std::function<absl::StatusOr<bool>(ExportedProgram&)> run;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASS_MANAGER_PASS_H_
