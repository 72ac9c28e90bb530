// The one place where an operator's facts are declared. Rows live in exir/ops, one table per
// family.
#ifndef BELAY_EXIR_OP_OP_DEF_H_
#define BELAY_EXIR_OP_OP_DEF_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "exir/op/meta_context.h"

namespace belay::exir {

// Facts that passes and checks ask about. Mutability and view aliasing are not here: the schema
// says them.
enum OpTrait : uint32_t {
  kCore = 1 << 0,           // tagged "core" in PyTorch's native_functions.yaml
  kViewCopy = 1 << 1,       // tagged "view_copy"
  kPointwise = 1 << 2,      // output element i depends on element i of the (broadcast) inputs only
  kReduction = 1 << 3,      // folds dimensions
  kDataMovement = 1 << 4,   // only copies elements
  kDataDependent = 1 << 5,  // the output's shape depends on elements
  kNondeterministic = 1 << 6,  // random
  kSideEffect = 1 << 7,        // must survive dead-code elimination: asserts
  // Decomposes into other operators, by a row of exir/decompositions; has no kernel in an edge
  // program. Of rows in exir/ops: coverage_test holds that each has its decomposition.
  kComposite = 1 << 8,
  kQuantization = 1 << 9,  // quantize and dequantize primitives
  kSymbolic = 1 << 10,     // arithmetic on scalars, no tensors in the results
  kQuantizes = 1 << 12,    // makes quantized numbers of real ones
  kDequantizes = 1 << 13,  // and real ones of quantized ones
  kCreation = 1 << 14,     // makes a tensor of a number, or of nothing
  kAtenInEdge = 1 << 15,   // stands in edge programs as the ATen operator, without dtype constraint
  kAlwaysDecomposed = 1 << 16,  // no partitioner's filter keeps it
  // The elements of the result are elements of the first argument, a tensor or a list of tensors.
  kMovesElements = 1 << 17,
  // What the bytes of the result are to those of the first argument, where strides allow:
  kKeepsBytes = 1 << 18,         // the same, of the same sizes
  kReshapesBytes = 1 << 19,      // the same elements in the same order
  kReinterpretsBytes = 1 << 20,  // the same, of another dtype
  kPermutesBytes = 1 << 21,  // the same with dimensions in another order: `dims`, `dim0`, `dim1`
  kCutsBytes =
      1 << 22,  // a part of dimension `dim` from `start` on, or at `index` without the dimension
  kSplitsBytes = 1 << 23,  // all parts of dimension `dim`: a list
  kJoinsBytes = 1 << 24,   // the first argument's tensors one behind the other in dimension `dim`
};

// |got - want| <= atol + rtol * |want| for float32; other dtypes scale by their epsilon.
struct Tolerance {
  double rtol = 1e-6;
  double atol = 0;
};

// From where random tests draw the operator's floating point inputs.
struct Domain {
  double min = -10;
  double max = 10;
};

// Infers shapes and dtypes and checks the arguments (kInvalidArgument naming the argument, what was
// expected, what came). Right for symbolic sizes.
using MetaFn = absl::Status (*)(MetaContext& context);

// How floating point operations are counted (exir/flop_count.h).
enum class FlopRule : uint8_t {
  kNone,         // not at all
  kProduct,      // sums over the last dimension of `factor`
  kConvolution,  // of `input` with `weight`, `transposed` or not
  kAttention,    // of `query`, `key` and `value`
};
struct FlopFact {
  FlopRule rule = FlopRule::kNone;
  std::string_view factor = "";  // an argument
};

struct OpDef {
  std::string_view schema;  // as PyTorch prints it; the namespace is part of it
  MetaFn meta = nullptr;    // null: no meta kernel (opaque to shape inference)
  uint32_t traits = 0;
  // The edge dialect's dtype constraint (docs/edge-dialect.md §4), "" when any combination of legal
  // dtypes will do. Rows are separated by '|'; a row binds every tensor argument and return to an
  // alias and each alias to a set:
  //   "self:A other:A ->:A  A=real"         two tables of one row: all three have one dtype, a real
  //   one
  // Parsed by exir/op/dtype_rule.h.
  std::string_view dtypes = "";
  Tolerance tolerance = {};
  Domain domain = {};
  FlopFact flops = {};
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_OP_DEF_H_
