#include "fuzz/targets/recycled_ops.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::fuzz {

const exir::OpRegistry& RecycledOps() {
  static const auto make_ops = [] {
    auto created = exir::CreateStandardOps();
    ABSL_CHECK(created.ok());
    return *std::move(created);
  };
  static std::unique_ptr<exir::OpRegistry>& ops =
      *new std::unique_ptr<exir::OpRegistry>(make_ops());
  static uint64_t uses = 0;
  if (++uses % 4096 == 0) ops = make_ops();
  return *ops;
}

}  // namespace belay::fuzz
