// Calls that operators are known to take: the conformance vectors (conformance/opcases) as
// arguments for random programs.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/ir/argument.h"
#include "exir/op/op_registry.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::conformance {

// A dense tensor with its contents.
struct SampleTensor {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Strides strides;  // dense, in some order of the dimensions
  std::vector<std::byte> bytes;

  TensorView view() const;  // read-only by contract
};

struct SampleCall {
  std::string id;
  // One per schema argument; ValueId(k) stands for tensors[k].
  std::vector<exir::Argument> arguments;
  std::vector<SampleTensor> tensors;
  // Of what the operator gives only the type is specified: random numbers, uninitialized memory.
  bool unspecified = false;
};

struct OperatorCalls {
  const exir::OpOverload* op = nullptr;
  std::vector<SampleCall> calls;
};

class CallCorpus {
 public:
  // All calls that are not errors, whose tensors have at most `max_elements` elements and specified
  // contents; views are made dense. An operator that writes its first argument and has no vectors
  // gets those of its functional twin where the results have the type of that argument.
  static absl::StatusOr<CallCorpus> Read(const std::string& folder, const exir::OpRegistry& ops,
                                         int64_t max_elements = 1024);

  // Of operators with vectors, sorted by name; some may have no call.
  absl::Span<const OperatorCalls> functional() const { return functional_; }
  // Those whose schema writes to an argument.
  absl::Span<const OperatorCalls> in_place() const { return in_place_; }

 private:
  std::vector<OperatorCalls> functional_, in_place_;
};

// The case as a call of the operator; kInvalidArgument for arguments that it does not have,
// kUnimplemented for tensors without contents and for views that a dense tensor can't stand for.
absl::StatusOr<SampleCall> ToSampleCall(const exir::OpOverload& op, const OpCase& op_case);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_
