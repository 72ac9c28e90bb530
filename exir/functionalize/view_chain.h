// Alias analysis: tracks which tensors share a storage, and propagates a write through one of them
// to the others.
#ifndef BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_
#define BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "exir/builder/op_builder.h"

namespace belay::exir {

// A storage shared by several values, represented by one functional value that changes with each
// write.
struct SharedMemory {
  ValueId owner;  // the value that allocated it
  uint64_t version = 0;
};

// A view of a storage: the whole, or an operator applied to another view of it. Referenced objects
// must outlive it. Chains of views may be long: nothing here recurses, and N views and M writes
// create O(N + M) nodes. In long chains, the element indices of the view are computed once; reads
// and writes then use these indices (gather, scatter).
class View {
 public:
  // Creates a view of the whole storage.
  explicit View(SharedMemory& memory) : memory_(&memory), current_(memory.owner) {}
  // Creates the view that is the `result`-th result (an element, if the operator returns a list) of
  // the view operator on `parent`, its argument number `operand`. `value` is that result with the
  // current contents.
  View(View& parent, const OpOverload* op, std::vector<Argument> arguments, size_t operand,
       size_t result, ValueId value);

  // Returns the view's current value. Emits the nodes that recompute it if the storage changed
  // after its last computation.
  ValueId Current(OpBuilder& b);
  // Emits the nodes that write `value`, of the view's sizes and dtype, through to the storage.
  // Afterwards Current() is `value`. Errors go to the builder: kUnimplemented for a view with
  // overlapping elements.
  void Write(OpBuilder& b, ValueId value);

  const SharedMemory& memory() const { return *memory_; }
  bool IsWhole() const { return parent_ == nullptr; }

 private:
  bool UpToDate() const { return current_version_ == memory_->version; }
  void SetCurrent(ValueId value);
  // Applies the view operator to `parent`, which has the sizes of the parent.
  Argument ApplyView(OpBuilder& b, const Argument& parent) const;
  void Recompute(OpBuilder& b);  // from the up-to-date parent
  // Whether it uses element indices.
  bool IsLong(OpBuilder& b) const;
  bool Picks(OpBuilder& b) const;  // elements are neither repeated nor changed
  View& Whole();
  Argument Numbers(OpBuilder& b);  // storage indices of the view's elements

  SharedMemory* memory_;
  View* parent_ = nullptr;  // null for the whole
  const OpOverload* op_ = nullptr;
  std::vector<Argument> arguments_;
  size_t operand_ = 0, result_ = 0;
  ValueId current_;
  uint64_t current_version_ = 0;
  bool is_alias_ = false;            // identity view of the parent
  size_t depth_ = 0;                 // operators between it and the whole storage, without aliases
  std::optional<Argument> numbers_;  // cached result of Numbers()
};

// Inverse of a view operator: returns `base` with the part that the operator selects replaced by
// `value`. `arguments` are the operator's; argument number `operand` is ignored. Returns None after
// an error.
Argument WriteThroughView(OpBuilder& b, const OpOverload* op,
                          const std::vector<Argument>& arguments, size_t operand, size_t result,
                          const Argument& base, const Argument& value);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_
