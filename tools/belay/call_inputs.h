// The inputs of one call of a method, from files or drawn.
#ifndef BELAY_TOOLS_BELAY_CALL_INPUTS_H_
#define BELAY_TOOLS_BELAY_CALL_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/evalue.h"
#include "runtime/core/npy.h"
#include "runtime/program/plan.h"

namespace belay::tools {

// One of each per input of the method.
struct CallInputs {
  std::vector<NpyArray> arrays;
  std::vector<EValue> values;  // that lie in them
};

// From `.npy` files in the order of the inputs that take one: a file for each, or for each that was
// not fixed at export; which of both it is, their number says. kInvalidArgument when it is neither,
// when a fixed input is given another value than its own, and whatever reading the files and
// InputFromNpy return.
absl::StatusOr<CallInputs> InputsFromFiles(const MethodPlan& plan,
                                           const std::vector<std::string>& files);

// From the files input_<i>.npy of a folder, `i` being the input's index. Inputs that were fixed at
// export may be left out. kNotFound when there is no such folder or a file is missing,
// kInvalidArgument for a file of an input that there is not or that takes none, and as above.
absl::StatusOr<CallInputs> InputsFromFolder(const MethodPlan& plan, const std::string& folder);

// RandomInput for each that takes an array.
absl::StatusOr<CallInputs> RandomInputs(const MethodPlan& plan, uint64_t seed,
                                        int64_t dynamic_size);

// A value of a call in a line: "f32[2,3]", "int 3", "None".
std::string DescribeValue(const EValue& value);
// The same with the elements of a tensor that has at most 16 real ones: "f32[3] = [0.5, 1, 2]", in
// row-major order.
std::string DescribeElements(const EValue& value);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CALL_INPUTS_H_
