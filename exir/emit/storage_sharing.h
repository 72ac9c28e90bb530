// Storage sharing (aliasing) of a method's values: views share with their source, operands of a
// concatenation with its result, and results of elementwise operators with dying operands.
#ifndef BELAY_EXIR_EMIT_STORAGE_SHARING_H_
#define BELAY_EXIR_EMIT_STORAGE_SHARING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "exir/emit/view_bytes.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/schema/file_format.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct SharingOptions {
  bool slices = true;                     // views of less than half of their source
  bool joins = true;                      // operands of concatenations in the result
  uint64_t alignment = kTensorAlignment;  // of values inside others
};

// Storages and the offsets of values in them. A storage is as large as the first value for which it
// was created; merged storages are inside it.
class StorageSharing {
 public:
  // Initially every arena tensor has its own storage. `operators` are those of the method
  // (WrittenMethod::operators). Both must outlive the object.
  StorageSharing(const schema::Method& method, absl::Span<const OpOverload* const> operators);

  // Places results of calls that only forward bytes in the storage of their source. Static ones
  // need no instruction. Dynamic ones keep theirs, which then copies the bytes onto themselves.
  // Only values with a single writer qualify.
  void ShareViews(const SharingOptions& options);

  // Places results of elementwise operators over an operand whose storage has no later use. `order`
  // is the execution order. `shapes` distinguishes dynamic sizes (by value; equal for equal
  // symbolic sizes).
  void ShareDyingOperands(absl::Span<const uint32_t> order, absl::Span<const uint32_t> shapes);

  struct Place {
    uint32_t storage = 0;
    uint64_t offset = 0;
  };
  // nullopt for values outside the arena.
  std::optional<Place> PlaceOf(uint32_t value) const;
  // Merged storages are represented by the index of one of their values.
  uint64_t bytes(uint32_t storage) const { return bytes_[storage]; }
  // By instruction: whether it became a no-op and is removed.
  const std::vector<bool>& elided() const { return elided_; }
  // By value: the constant that it is a view of.
  const std::vector<std::optional<uint32_t>>& constants() const { return constants_; }

 private:
  struct Link {
    uint32_t parent;
    uint64_t offset = 0;  // in the parent
  };
  Place Find(uint32_t value) const;
  void Merge(uint32_t storage, Place into);
  bool HoldsOutput(uint32_t storage) const { return holds_output_[storage]; }
  bool ShareView(uint32_t instruction, const SharingOptions& options);
  bool ShareJoin(uint32_t instruction, const SharingOptions& options);
  bool ShareDynamicView(uint32_t instruction);
  KernelCallView CallAt(uint32_t instruction) const;

  const schema::Method* method_;
  absl::Span<const OpOverload* const> operators_;
  std::vector<bool> in_arena_;       // by value
  mutable std::vector<Link> links_;  // by value
  std::vector<uint64_t> bytes_;      // by value; valid for roots
  std::vector<bool> holds_output_;   // by value; valid for roots
  std::vector<uint32_t> writers_;    // by value
  std::vector<bool> elided_;         // by instruction
  std::vector<std::optional<uint32_t>> constants_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_STORAGE_SHARING_H_
