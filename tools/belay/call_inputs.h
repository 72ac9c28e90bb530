// The inputs of one call of a method, from files or random.
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

// One array and one value per input of the method.
struct CallInputs {
  std::vector<NpyArray> arrays;
  std::vector<EValue> values;  // point into `arrays`
};

// Reads `.npy` files in the order of the inputs that take an array. The number of files decides
// whether they are for all inputs or only for inputs that were not fixed at export.
// kInvalidArgument: neither number matches, or a fixed input gets another value than its own; also
// the errors of reading the files and of InputFromNpy.
absl::StatusOr<CallInputs> InputsFromFiles(const MethodPlan& plan,
                                           const std::vector<std::string>& files);

// Reads the files input_<i>.npy of a folder, where `i` is the input's index. Inputs that were fixed
// at export may be omitted. kNotFound: the folder or a file is missing. kInvalidArgument: a file of
// an unknown input or of one that takes no array; also as above.
absl::StatusOr<CallInputs> InputsFromFolder(const MethodPlan& plan, const std::string& folder);

// Calls RandomInput for each input that takes an array.
absl::StatusOr<CallInputs> RandomInputs(const MethodPlan& plan, uint64_t seed,
                                        int64_t dynamic_size);

// Describes a value in one line: "f32[2,3]", "int 3", "None".
std::string DescribeValue(const EValue& value);
// Also prints the elements of a tensor with at most 16 real elements, in row-major order: "f32[3] =
// [0.5, 1, 2]".
std::string DescribeElements(const EValue& value);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CALL_INPUTS_H_
