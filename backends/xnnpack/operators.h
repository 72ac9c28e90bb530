// The library's operators for nodes of a graph.
#ifndef BELAY_BACKENDS_XNNPACK_OPERATORS_H_
#define BELAY_BACKENDS_XNNPACK_OPERATORS_H_

#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// What a node computes with, in one call.
struct Operands {
  absl::Span<const Sizes* const> sizes;  // of the inputs, null for one that is not there
  absl::Span<const void* const> inputs;  // of constants of a convolution or linear layer: unused
  const Sizes* output_sizes;             // OutputSizes()
  void* output;
  pthreadpool_t threads = nullptr;  // LibraryPool()
};

// Computes one node. Used by one thread at a time. The library reads up to kOverread bytes behind
// the end of an input; it writes into the output only.
class Operator {
 public:
  static constexpr size_t kOverread = XNN_EXTRA_BYTES;

  // The library's operator, with its weights packed; none for nodes that move elements or are functions. Refers to
  // nothing of the graph. Precondition: the graph is one of ReadGraph, InitializeLibrary() was OK.
  //   kUnimplemented      the library refuses the node's numbers
  //   kInvalidArgument    it finds them wrong
  //   kResourceExhausted  it gets no memory
  static absl::StatusOr<Operator> Create(const Graph& graph, const Node& node);
  // At least what the library allocates for Create and for Run with these sizes, when they are the
  // largest. Saturates.
  static uint64_t Bytes(const Graph& graph, const Node& node);

  // Errors as above; besides
  //   kUnimplemented  the number of channels is another than in the graph
  absl::Status Run(const Node& node, const Operands& operands) const;

  struct Call;

 private:
  struct Delete {
    void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
  };
  std::unique_ptr<xnn_operator, Delete> operator_;
  xnn_status (*set_up_)(const Call& call) = nullptr;
  int64_t channels_ = 0;      // that the operator was made for; 0: it is the same for any number
  size_t element_bytes_ = 4;  // of nodes that move
};

// Once per process, before anything else of the library. kUnimplemented: not on this machine.
absl::Status InitializeLibrary();

// Whether the library's functions for threads are those of library_threads.h. Where they are not, it
// must be given no pool. After InitializeLibrary(), which was OK.
bool LibraryTakesThreads();

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_OPERATORS_H_
