#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_EMBEDDING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_EMBEDDING_H_

#include "backends/cpu/aot/pass_diagnostics.h"
#include "backends/cpu/aot/tied_tables.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Lowers embeddings in tables that a linear layer packs, so that a file stores these once:
//
//   aten.embedding(W, indices)              ->  packed_embedding(packed(W^T), indices)
//   embedding_byte(W, s, z, ..., indices)   ->  packed_embedding(packed(W^T), s, z, indices)
//
// The results have the same bits. The layout is TiedTables::LayoutOf(W). Not lowered: scales or zero
// points that are not constant or not float32, and groups that their packed form does not support.
// Top graph only. `tables` and `diagnostics`, which may be null, must outlive the pass.
exir::Pass LowerEmbedding(const TiedTables& tables, PassDiagnostics* diagnostics = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_EMBEDDING_H_
