// Valid calls of operators, as building blocks of random programs.
#ifndef BELAY_EXIR_TESTING_GENERATOR_SAMPLE_CALL_H_
#define BELAY_EXIR_TESTING_GENERATOR_SAMPLE_CALL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "exir/interpreter/owned_value.h"
#include "exir/ir/argument.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// A dense tensor with its contents.
struct SampleTensor {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Strides strides;  // dense, in any dimension order
  std::vector<std::byte> bytes;

  TensorView view() const;  // read-only by contract
  OwnedValue Copy() const;  // may be written
};

struct SampleCall {
  std::string id;
  // One per schema argument; ValueId(k) refers to tensors[k].
  std::vector<Argument> arguments;
  std::vector<SampleTensor> tensors;
  // Only the types of the results are specified, not their values: random numbers, uninitialized
  // memory.
  bool unspecified = false;
};

struct OperatorCalls {
  const OpOverload* op = nullptr;
  std::vector<SampleCall> calls;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_SAMPLE_CALL_H_
