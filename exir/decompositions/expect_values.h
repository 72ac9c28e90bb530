// Value tests of passes that rewrite one operator: decompositions, and those for ExecuTorch.
//
//   ExpectValues("aten.celu.default(%a, 2.0)", {F({2}, {-1, 1})}, {F({2}, {-0.7869387, 1})});
//
// creates a program with one node, decomposes it, executes the result with the reference kernels
// and compares the values.
#ifndef BELAY_EXIR_DECOMPOSITIONS_EXPECT_VALUES_H_
#define BELAY_EXIR_DECOMPOSITIONS_EXPECT_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Shared fixtures, created once: all operators, and the reference kernels.
const OpRegistry& StandardOpsOfTests();
const KernelRegistry& ReferenceKernelsOfTests();

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A tensor with its elements in row-major order.
struct Values {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<double> elements;
};
using Sizes64 = std::vector<int64_t>;
inline Values F(Sizes64 sizes, std::vector<double> v) { return {DType::kFloat32, sizes, v}; }
inline Values I(Sizes64 sizes, std::vector<double> v) { return {DType::kInt64, sizes, v}; }
inline Values B(Sizes64 sizes, std::vector<double> v) { return {DType::kBool, sizes, v}; }
inline Values H(Sizes64 sizes, std::vector<double> v) { return {DType::kFloat16, sizes, v}; }
inline Values D(Sizes64 sizes, std::vector<double> v) { return {DType::kFloat64, sizes, v}; }
inline Values U8(Sizes64 sizes, std::vector<double> v) { return {DType::kUint8, sizes, v}; }
// Applies `fn` to each element.
template <class Fn>
Values Map(Values x, Fn fn) {
  for (double& element : x.elements) element = fn(element);
  return x;
}
template <class Fn>
Values Map(Values x, const Values& y, Fn fn) {
  for (size_t i = 0; i < x.elements.size(); ++i) x.elements[i] = fn(x.elements[i], y.elements[i]);
  return x;
}
// Float32 elements in [-2, 2] from a fixed sequence per seed.
Values Random(Sizes64 sizes, uint32_t seed = 1);

struct ExpectOptions {
  double rtol = 1e-5;
  double atol = 1e-6;
  // Also runs the program with a symbol for every input size above 1, in addition to static sizes.
  bool symbolic = true;
  // Whether these symbols include sizes of 0.
  bool symbolic_empty = false;
  // Whether the result is one list of the expected tensors.
  bool list = false;
  // Expected contents of the inputs after the call, if it writes to them.
  std::vector<Values> written = {};
  // Compares elements; false for random numbers, where only types are compared.
  bool values = true;
};

// `call` refers to its inputs as %a, %b, %c, …. Expects results with the dtype, the sizes and,
// within the tolerance, the elements of `expected`; NaN equals NaN. Expects that no node remains
// that has a row in the table.
void ExpectValues(std::string_view call, const std::vector<Values>& inputs,
                  const std::vector<Values>& expected, ExpectOptions options = {});
// Same, with the results of the operator's own reference kernel as expectation.
void ExpectAsKernel(std::string_view call, const std::vector<Values>& inputs, size_t results = 1,
                    ExpectOptions options = {});
// `call` is an operator of the edge dialect: "edge.aten.sort.default(%a)". Expects that the program
// after `rewrite` has the results of the program before it, which are those of reference kernels.
void ExpectSameValues(std::string_view call, const std::vector<Values>& inputs, size_t results,
                      const std::function<absl::Status(ExportedProgram&)>& rewrite,
                      ExpectOptions options = {});
// Expects that decomposition fails. The result is declared with the type of `declared`.
void ExpectDecompositionError(std::string_view call, const std::vector<Values>& inputs,
                              const std::vector<Values>& declared, absl::StatusCode code,
                              std::string_view message);

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_EXPECT_VALUES_H_
