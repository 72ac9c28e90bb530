// Which values of a method lie in the same memory: views in what they are views of, operands of a
// concatenation in its result, results of elementwise operators over operands that are not needed
// any more.
#ifndef BELAY_EXIR_EMIT_STORAGE_SHARING_H_
#define BELAY_EXIR_EMIT_STORAGE_SHARING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "exir/emit/view_bytes.h"
#include "exir/op/op_registry.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

struct SharingOptions {
  bool slices = true;  // views of parts that are smaller than half of the whole
  bool joins = true;   // operands of concatenations in the result
};

// Storages and where values lie in them. A storage is as large as the first value that it was made
// for; those merged into it lie inside.
class StorageSharing {
 public:
  // Every arena tensor in a storage of its own. `operators` are those of the method
  // (WrittenMethod::operators). Both must outlive the object.
  StorageSharing(const schema::Method& method, absl::Span<const OpOverload* const> operators);

  // Places results of calls that only hand on bytes in the storage of what they hand on. Static
  // ones need no instruction; dynamic ones keep theirs, which then copies bytes onto themselves.
  // Only values that one instruction writes take part.
  void ShareViews(const SharingOptions& options);

  // Places results of elementwise operators over an operand whose storage is not touched later.
  // `order` are the instructions as they will run; `shapes` tells dynamic sizes apart (by value;
  // equal for equal symbolic sizes).
  void ShareDyingOperands(absl::Span<const uint32_t> order, absl::Span<const uint32_t> shapes);

  struct Place {
    uint32_t storage = 0;
    uint64_t offset = 0;
  };
  // nullopt for what is not in the arena.
  std::optional<Place> PlaceOf(uint32_t value) const;
  // Storages that others were merged into have the index of one of their values.
  uint64_t bytes(uint32_t storage) const { return bytes_[storage]; }
  // By instruction: it does nothing any more.
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
  bool ShareJoin(uint32_t instruction);
  bool ShareDynamicView(uint32_t instruction);
  KernelCallView CallAt(uint32_t instruction) const;

  const schema::Method* method_;
  absl::Span<const OpOverload* const> operators_;
  std::vector<bool> in_arena_;       // by value
  mutable std::vector<Link> links_;  // by value
  std::vector<uint64_t> bytes_;      // by value; of roots
  std::vector<bool> holds_output_;   // by value; of roots
  std::vector<uint32_t> writers_;    // by value
  std::vector<bool> elided_;         // by instruction
  std::vector<std::optional<uint32_t>> constants_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_STORAGE_SHARING_H_
