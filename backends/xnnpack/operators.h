// Creates and runs the library's operators for nodes of a graph.
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

// Operands of a node in one call.
struct Operands {
  absl::Span<const Sizes* const> sizes;  // of the inputs; null if omitted
  absl::Span<const void* const> inputs;  // unused for constants of convolutions and linear layers
  const Sizes* output_sizes;             // OutputSizes()
  void* output;
  pthreadpool_t threads = nullptr;  // LibraryPool()
};

// Computes one node. Not thread-safe. The library may read up to kOverread bytes past the end of an
// input; it writes within the output only.
class Operator {
 public:
  static constexpr size_t kOverread = XNN_EXTRA_BYTES;

  // Creates the library's operator and packs its weights. Nodes that move data or have `function`
  // in their rule need no operator of the library. Does not reference the graph afterwards.
  // Precondition: the graph comes from ReadGraph, and InitializeLibrary() succeeded.
  //   kUnimplemented      the library does not support the node's parameters
  //   kInvalidArgument    the library rejects them as invalid
  //   kResourceExhausted  the library cannot allocate memory
  static absl::StatusOr<Operator> Create(const Graph& graph, const Node& node);
  // Upper bound of the library's allocations for Create and for Run with sizes up to those of the
  // graph. Saturates.
  static uint64_t Bytes(const Graph& graph, const Node& node);

  // Returns the errors of Create, and
  //   kUnimplemented  the number of channels differs from the graph
  absl::Status Run(const Node& node, const Operands& operands) const;

  struct Call;

 private:
  struct Delete {
    void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
  };
  std::unique_ptr<xnn_operator, Delete> operator_;
  xnn_status (*set_up_)(const Call& call) = nullptr;
  int64_t channels_ = 0;      // for which the operator was created; 0: any number
  size_t element_bytes_ = 4;  // of nodes that move data
};

// Must be called once per process before other uses of the library. kUnimplemented if the library
// does not support this machine.
absl::Status InitializeLibrary();

// Whether the library calls the pthreadpool functions of library_threads.h. If not, pass it no
// pool. Precondition: InitializeLibrary() succeeded.
bool LibraryUsesPool();

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_OPERATORS_H_
