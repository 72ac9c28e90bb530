// The run-time side: ExecuTorch's XNNPACK payloads → the library's operators.
#ifndef BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_
#define BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_

#include <memory>

#include "executorch/format/xnnpack_payload.h"
#include "runtime/backend/backend_runtime.h"

namespace belay::xnnpack {

// Executes payloads as ExecuTorch 1.5.0 and Belay write them, node by node. The library's operators
// are divided among the threads of the call; results are the same for any number of them, and the
// calling thread works alone where another libpthreadpool was loaded before (library_threads.h).
// Weights are packed when the delegate is made and their bytes not looked at again. The memory of
// results is planned for the sizes in the payload and used again as they die; a call may have
// smaller sizes.
class XnnpackRuntime final : public BackendRuntime {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/xnnpack:runtime"; }
  //   kDataLoss, kInvalidArgument, kNotFound, kUnimplemented  as ReadGraph (graph_reader.h), and
  //                       where the library refuses a node or the call's tensors are others
  //   kResourceExhausted  no memory, or context.memory: it gives all that is held, of packed weights
  //                       and tables of the library an upper bound
  // The handle's ExecuteWithin takes each node and its multiply-adds from the budget, and logs a
  // step of the node's debug handle. Besides errors of the budget:
  //   kInvalidArgument  an argument of another dtype or rank, or sizes that do not fit the graph
  //   kOutOfRange       a value would be larger than planned
  //   kUnimplemented    sizes that change what operators were made for (channels)
  // It allocates only where sizes of images differ from those of the call before.
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override;
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_XNNPACK_RUNTIME_H_
