// The compiled form of a partition. Immutable once it is in a program; shared by copies of the
// program. Created by exir/backend/to_backend.h. Source: docs/lowering.md §1 rows 3, 7, 21.
#ifndef BELAY_EXIR_IR_LOWERED_BACKEND_MODULE_H_
#define BELAY_EXIR_IR_LOWERED_BACKEND_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Interpreted only by the backend. Order is preserved and keys may repeat.
struct CompileSpec {
  std::string key;
  std::string value;  // bytes
  bool operator==(const CompileSpec&) const = default;
};

// Maps a backend's own ids for its instructions (all ints or all strings) to debug handles,
// ascending (docs/lowering.md §4).
using DelegateId = std::variant<int64_t, std::string>;
using DebugHandleMap = absl::btree_map<DelegateId, std::vector<int64_t>>;

// Location and metadata of a named blob (docs/lowering.md §3.7).
struct NamedDataEntry {
  size_t buffer = 0;       // index into NamedDataOutput::buffers
  uint64_t alignment = 1;  // any positive number
  struct TensorLayout {
    DType dtype = DType::kFloat32;
    std::vector<int64_t> sizes;
    std::vector<uint8_t> dim_order;
    bool operator==(const TensorLayout&) const = default;
  };
  std::optional<TensorLayout> layout;
  std::string sha256 = {};  // 32 bytes, if known; not recomputed
  // Whether callers may replace the data when they open the program; needs a layout.
  bool replaceable = false;
};
struct NamedDataOutput {
  std::vector<Storage> buffers;
  absl::btree_map<std::string, NamedDataEntry>
      program_data;  // key → entry, stored in the program file
  // external file tag -> key -> entry, stored in companion files
  absl::btree_map<std::string, absl::btree_map<std::string, NamedDataEntry>> external_data;
  bool empty() const { return program_data.empty() && external_data.empty(); }
};

// Cost of one call of a delegate, for reports; never serialized. Zero if the backend reports none.
struct DelegateCost {
  // Calls of kernels that are not the backend's own, of one operator. They often take most of the
  // time.
  struct GenericKernel {
    std::string op;  // "aten.cat.default"
    size_t calls = 0;
    double bytes = 0;  // of tensor arguments and results, at their largest sizes
  };
  uint64_t memory_bytes = 0;  // working memory, at the largest sizes
  size_t kernel_calls = 0;
  std::vector<GenericKernel> generic = {};  // one per operator
};

struct LoweredBackendModule {
  LoweredBackendModule(std::string backend_id, ExportedProgram original)
      : backend_id(std::move(backend_id)), original(std::move(original)) {}
  // Move-only like ExportedProgram, with a Clone() like it.
  LoweredBackendModule(LoweredBackendModule&&) = default;
  LoweredBackendModule& operator=(LoweredBackendModule&&) = default;
  LoweredBackendModule Clone() const {
    LoweredBackendModule copy(backend_id, original.Clone());
    copy.processed = processed;
    copy.compile_specs = compile_specs;
    copy.named_data = named_data;
    copy.debug_handle_map = debug_handle_map;
    copy.delegate_info = delegate_info;
    copy.cost = cost;
    return copy;
  }

  std::string backend_id;
  Storage processed;  // input of the backend's runtime
  std::vector<CompileSpec> compile_specs;
  // The edge program that it replaces; interpreting it defines the semantics of the call.
  ExportedProgram original;
  NamedDataOutput named_data;
  DebugHandleMap debug_handle_map;
  std::string delegate_info;  // the backend's diagnostics for reports; never serialized
  DelegateCost cost;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_LOWERED_BACKEND_MODULE_H_
