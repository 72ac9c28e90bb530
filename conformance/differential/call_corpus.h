// Calls from the conformance vectors (conformance/opcases), as arguments for random programs.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/op_definition/op_registry.h"
#include "exir/testing/generator/sample_call.h"

namespace belay::conformance {

using exir::OperatorCalls;
using exir::SampleCall;
using exir::SampleTensor;

class CallCorpus {
 public:
  // Reads all calls that are not errors, whose tensors have at most `max_elements` elements and
  // specified contents. Views become dense tensors. If an operator that writes its first argument
  // has no vectors, it uses those of its functional variant whose results have the type of that
  // argument.
  static absl::StatusOr<CallCorpus> Read(const std::string& folder, const exir::OpRegistry& ops,
                                         int64_t max_elements = 1024);

  // Operators with vectors, sorted by name. An operator may have no calls.
  absl::Span<const OperatorCalls> functional() const { return functional_; }
  // Operators whose schema writes to an argument.
  absl::Span<const OperatorCalls> in_place() const { return in_place_; }

 private:
  std::vector<OperatorCalls> functional_, in_place_;
};

// Converts the case to a call of the operator. kInvalidArgument: unknown arguments. kUnimplemented:
// tensors without contents, and views that a dense tensor cannot represent.
absl::StatusOr<SampleCall> ToSampleCall(const exir::OpOverload& op, const OpCase& op_case);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_CALL_CORPUS_H_
