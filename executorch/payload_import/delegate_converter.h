// Compiles the XnnpackBackend delegates of ExecuTorch's programs for another backend.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_CONVERTER_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_CONVERTER_H_

#include "executorch/reader/delegate_conversion.h"
#include "exir/backend/backend.h"
#include "exir/op_definition/op_registry.h"

namespace belay::pte {

// Returns a converter that imports each payload (payload_program.h), lowers it to the edge dialect
// and compiles it with `backend`; all payloads of a file together, so that they share packed
// weights. Delegates of other backends are not converted. Both objects must outlive the converter,
// which may be called concurrently. The work is limited in proportion to the file's size
// (exir::LoweringLimits), unless the calling thread has a Budget.
//
// Delegates for which PayloadProgram returns kUnimplemented are not converted either: XnnpackBackend
// executes or refuses them, and a note gives the reason. Other errors:
//
//   errors of PayloadProgram, ToEdge and the backend, with method and index of the delegate
//
// The backend uses `threads` threads.
DelegateConverter XnnpackConverter(const exir::OpRegistry& ops, const exir::Backend& backend,
                                   int threads = 1);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_CONVERTER_H_
