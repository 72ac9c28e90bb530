// The arguments of a meta kernel as the rules of runtime/kernel/shape_rules/strided.h read them.
#ifndef BELAY_EXIR_OPS_META_ARGS_H_
#define BELAY_EXIR_OPS_META_ARGS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/meta_context.h"
#include "exir/ops/sym_bounds.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay::exir {

class MetaArgs {
 public:
  using Dim = SymInt;
  explicit MetaArgs(const MetaContext& context) : context_(context) {}

  bool is_none(int i) const { return context_.is_none(i); }
  absl::StatusOr<SymInt> Int(int i) const { return context_.Int(i); }
  absl::StatusOr<int64_t> StaticInt(int i) const { return context_.StaticInt(i); }
  absl::StatusOr<std::vector<SymInt>> IntList(int i) const {
    ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> list, context_.IntList(i));
    ABSL_RETURN_IF_ERROR(CheckRank(list.size()));
    return list;
  }
  absl::StatusOr<Sizes> StaticIntList(int i) const {
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> list, context_.StaticIntList(i));
    ABSL_RETURN_IF_ERROR(CheckRank(list.size()));
    return Sizes(list);
  }
  absl::StatusOr<int> ListSize(int i) const;
  absl::StatusOr<SymInt> ListInt(int i, int k) const;

 private:
  const MetaContext& context_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_META_ARGS_H_
