// Names of the operators that a backend defines for its delegates.
#ifndef BELAY_RUNTIME_SCHEMA_PRIVATE_OPERATORS_H_
#define BELAY_RUNTIME_SCHEMA_PRIVATE_OPERATORS_H_

#include <string_view>

namespace belay {

// Whether the operator is private to a backend: its namespace is "belay_<backend id>". Kernels of
// other operators in a delegate are generic.
constexpr bool IsPrivateOperator(std::string_view backend_id, std::string_view op) {
  constexpr std::string_view kPrefix = "belay_";
  return op.starts_with(kPrefix) && op.substr(kPrefix.size()).starts_with(backend_id) &&
         op.substr(kPrefix.size() + backend_id.size()).starts_with('.');
}
static_assert(IsPrivateOperator("cpu", "belay_cpu.linear.default"));
static_assert(!IsPrivateOperator("cpu", "belay_cpus.linear.default"));
static_assert(!IsPrivateOperator("cpu", "aten.linear.default"));

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_PRIVATE_OPERATORS_H_
