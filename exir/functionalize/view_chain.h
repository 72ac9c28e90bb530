// How values lie over one another: which tensors share a storage, and how to follow a write through
// one of them to the others.
#ifndef BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_
#define BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "exir/builder/op_builder.h"

namespace belay::exir {

// The memory that some values share, as one functional value that changes with each write.
struct SharedMemory {
  ValueId owner;  // the value that made it
  uint64_t version = 0;
};

// A view of memory: the whole, or an operator applied to another view of it. What it refers to must
// outlive it. Chains of views may be long: nothing here recurses, and N views and M writes make
// nodes in proportion to N + M. Where a chain is longer than some steps, the numbers of the elements
// that it shows are computed once; reading and writing go by them.
class View {
 public:
  // The whole.
  explicit View(SharedMemory& memory) : memory_(&memory), current_(memory.owner) {}
  // The `result`-th result (an element, when the operator gives a list) of the view operator on
  // `parent`, which is the argument number `operand`. `value` is that result, as things are now.
  View(View& parent, const OpOverload* op, std::vector<Argument> arguments, size_t operand,
       size_t result, ValueId value);

  // What the view shows now: makes the nodes that compute it when the memory has changed since it
  // was computed last.
  ValueId Current(OpBuilder& b);
  // Makes the nodes that write `value`, of the view's sizes and dtype, through to the memory.
  // Afterwards Current() is `value`. Errors go to the builder: kUnimplemented for a view of which
  // elements lie over one another.
  void Write(OpBuilder& b, ValueId value);

  const SharedMemory& memory() const { return *memory_; }
  bool IsWhole() const { return parent_ == nullptr; }

 private:
  bool UpToDate() const { return current_version_ == memory_->version; }
  void SetCurrent(ValueId value);
  // What the operator shows of `parent`, which has the sizes of the parent.
  Argument Shown(OpBuilder& b, const Argument& parent) const;
  void Recompute(OpBuilder& b);  // from the parent, which is up to date
  // Whether it goes by numbers.
  bool IsLong(OpBuilder& b) const;
  bool Picks(OpBuilder& b) const;  // whether elements have numbers: nothing is repeated or changed
  View& Whole();
  Argument Numbers(OpBuilder& b);  // of the elements that it shows

  SharedMemory* memory_;
  View* parent_ = nullptr;  // null for the whole
  const OpOverload* op_ = nullptr;
  std::vector<Argument> arguments_;
  size_t operand_ = 0, result_ = 0;
  ValueId current_;
  uint64_t current_version_ = 0;
  bool is_alias_ = false;            // of the parent: shows all of it, as it is
  size_t depth_ = 0;                 // operators between it and the whole, without aliases
  std::optional<Argument> numbers_;  // once they are computed
};

// `base` with `value` in the place of what the view operator shows of it: the inverse of a view.
// `arguments` are the operator's; the argument number `operand` is not looked at. Gives None after
// an error.
Argument WriteThroughView(OpBuilder& b, const OpOverload* op,
                          const std::vector<Argument>& arguments, size_t operand, size_t result,
                          const Argument& base, const Argument& value);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_VIEW_CHAIN_H_
