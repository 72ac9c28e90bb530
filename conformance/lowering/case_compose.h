// Programs that cases describe by a line of Python: "forward(x, y) = relu(inner(x) + inner(y))".
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_COMPOSE_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_COMPOSE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/op/op_registry.h"

namespace belay::conformance {

// The ATen program of the function, whose parameters are tensors of these types. `inner(…)` calls
// the lowered module; all other names are operators ("relu": aten.relu.default, "add":
// aten.add.Tensor). There are +, -, *, /, numbers, parentheses, indices of results ("inner(x)[1]")
// and several results separated by commas. "let (a, b) = inner(x) in …" names the results of what it
// computes for what follows.
//   kInvalidArgument  the text, with the place; kNotFound  an operator
//   whatever shape inference returns
absl::StatusOr<exir::ExportedProgram> Compose(
    const std::string& function, const std::vector<exir::TensorMeta>& parameters,
    std::shared_ptr<const exir::LoweredBackendModule> inner, const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_COMPOSE_H_
