// The runtime of the XNNPACK backend: executes ExecuTorch's XNNPACK payloads with the library.
#ifndef BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_
#define BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_

#include <memory>

#include "executorch/format/xnnpack_payload.h"
#include "runtime/backend/backend_runtime.h"

namespace belay::xnnpack {

// Executes payloads as written by ExecuTorch 1.5.1 and Belay, node by node.
//
// Operators are divided among the threads of the call, with the same results for any number of
// threads. If another libpthreadpool was loaded first, only the calling thread is used
// (library_threads.h). Weights are packed at initialization; their bytes are not read again. The
// memory of results is planned for the sizes in the payload and reused as they die. A call may have
// smaller sizes.
class XnnpackRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/xnnpack:runtime"; }
  BackendOptionTable options() const override;  // threads
  //   kDataLoss, kInvalidArgument, kNotFound, kUnimplemented  as ReadGraph (graph_reader.h), and if
  //                       the library rejects a node or the call's tensors do not match
  //   kResourceExhausted  allocation failed, or context.memory is exhausted: it is charged for all
  //                       memory held; packed weights and tables of the library are charged by an
  //                       upper bound
  // The handle's ExecuteWithin charges each node and its multiply-adds to the budget, and logs a
  // step with the node's debug handle. Besides budget errors:
  //   kInvalidArgument  an argument of another dtype or rank, or sizes that do not match the graph
  //   kOutOfRange       a value would exceed its planned size
  //   kUnimplemented    sizes for which operators would have to be recreated (channels)
  // It allocates only if sizes of images differ from those of the previous call.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_
