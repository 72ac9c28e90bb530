// Declarations of operators: schema, meta kernel, traits and rules. The rows are in exir/ops, one
// table per family.
#ifndef BELAY_EXIR_OP_DEFINITION_OP_DEF_H_
#define BELAY_EXIR_OP_DEFINITION_OP_DEF_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "exir/op_definition/meta_context.h"

namespace belay::exir {

// Properties of operators that passes and checks query. Mutability and view aliasing are in the
// schema instead.
enum OpTrait : uint32_t {
  kCore = 1 << 0,           // tagged "core" in PyTorch's native_functions.yaml
  kViewCopy = 1 << 1,       // tagged "view_copy"
  kPointwise = 1 << 2,      // output element i depends on element i of the (broadcast) inputs only
  kReduction = 1 << 3,      // folds dimensions
  kDataMovement = 1 << 4,   // only copies elements
  kDataDependent = 1 << 5,  // the output's shape depends on element values
  kNondeterministic = 1 << 6,  // random
  kSideEffect = 1 << 7,        // must survive dead-code elimination: assertions
  // Decomposes into other operators, by a row of exir/decompositions; has no kernel in an edge
  // program. coverage_test checks that each such row in exir/ops has a decomposition.
  kComposite = 1 << 8,
  kQuantization = 1 << 9,  // quantize and dequantize primitives
  kSymbolic = 1 << 10,     // arithmetic on scalars, no tensors in the results
  kQuantizes = 1 << 12,    // converts real numbers to quantized ones
  kDequantizes = 1 << 13,  // converts quantized numbers to real ones
  kCreation = 1 << 14,     // creates a tensor from a scalar, or from nothing
  kAtenInEdge = 1 << 15,   // is the ATen operator also in edge programs, without dtype constraint
  kAlwaysDecomposed = 1 << 16,  // partitioners with a filter cannot keep it
  // The elements of the result are elements of the first argument, a tensor or a list of tensors.
  kMovesElements = 1 << 17,
  // Relation of the bytes of the result to those of the first argument, where strides allow a view:
  kKeepsBytes = 1 << 18,         // the same bytes and sizes
  kReshapesBytes = 1 << 19,      // the same elements in the same order
  kReinterpretsBytes = 1 << 20,  // the same bytes as another dtype
  kPermutesBytes = 1 << 21,      // the same, dimensions permuted: `dims`, `dim0`, `dim1`
  kCutsBytes =
      1 << 22,  // a slice of dimension `dim` from `start`, or at `index` without the dimension
  kSplitsBytes = 1 << 23,  // all parts of dimension `dim`: a list
  kJoinsBytes = 1 << 24,   // concatenates the tensors of the first argument in dimension `dim`
};

// |actual - expected| <= atol + rtol * |expected| for float32; other dtypes scale by their epsilon.
struct Tolerance {
  double rtol = 1e-6;
  double atol = 0;
};

// Interval of random floating-point inputs of the operator in tests.
struct Domain {
  double min = -10;
  double max = 10;
};

// Infers shapes and dtypes and checks the arguments (kInvalidArgument with the argument, expected
// and actual). Must be correct for symbolic sizes.
using MetaFn = absl::Status (*)(MetaContext& context);

struct OpDef {
  std::string_view schema;  // as PyTorch prints it; the namespace is part of it
  MetaFn meta = nullptr;    // null: no meta kernel (opaque to shape inference)
  uint32_t traits = 0;
  // The edge dialect's dtype constraint (docs/edge-dialect.md §4), "" if any combination of legal
  // dtypes is allowed. Rows are separated by '|'; a row binds every tensor argument and return to
  // an alias and each alias to a set:
  //   "self:A other:A ->:A  A=real"    one row: all three tensors have the same real dtype
  // Parsed by exir/op_definition/dtype_rule.h.
  std::string_view dtypes = "";
  Tolerance tolerance = {};
  Domain domain = {};
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_OP_DEF_H_
