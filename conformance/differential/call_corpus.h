// Calls that operators are known to take: the conformance vectors (conformance/opcases) as
// arguments for random programs.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/op/op_registry.h"
#include "exir/testing/generator/sample_call.h"

namespace belay::conformance {

using exir::OperatorCalls;
using exir::SampleCall;
using exir::SampleTensor;

class CallCorpus {
 public:
  // All calls that are not errors, whose tensors have at most `max_elements` elements and specified
  // contents; views are made dense. An operator that writes its first argument and has no vectors
  // gets those of its functional variant where the results have the type of that argument.
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
