// Debian's security update of Abseil adds this function to raw_hash_set.cc; upstream's source does
// not have it.
#include <cstdlib>

#include "absl/base/config.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace container_internal {

[[noreturn]] void HashTableSizeOverflow();

void HashTableSizeOverflow() { std::abort(); }

}  // namespace container_internal
ABSL_NAMESPACE_END
}  // namespace absl
