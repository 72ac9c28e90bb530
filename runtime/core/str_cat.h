// absl::StrCat and absl::StrAppend for std::string_view. In the base toolchain's Abseil (20220623,
// as built by Debian), absl::string_view is a separate type to which std::string_view does not
// convert. Where it is an alias, this header adds nothing.
#ifndef BELAY_RUNTIME_CORE_STR_CAT_H_
#define BELAY_RUNTIME_CORE_STR_CAT_H_

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#ifndef ABSL_USES_STD_STRING_VIEW
namespace belay {

// For Abseil functions that take an absl::string_view.
inline absl::string_view ToAbsl(std::string_view s) {
  return absl::string_view(s.data(), s.size());
}
inline std::string_view FromAbsl(absl::string_view s) {
  return std::string_view(s.data(), s.size());
}

namespace str_cat_internal {

template <class T>
const T& Adapt(const T& value) {
  return value;
}
inline absl::string_view Adapt(const std::string_view& value) { return ToAbsl(value); }

template <class... Args>
concept HasStdStringView = (std::is_same_v<Args, std::string_view> || ...);

}  // namespace str_cat_internal
}  // namespace belay

namespace absl {

template <class... Args>
  requires belay::str_cat_internal::HasStdStringView<Args...>
std::string StrCat(const Args&... args) {
  return StrCat(belay::str_cat_internal::Adapt(args)...);
}

template <class... Args>
  requires belay::str_cat_internal::HasStdStringView<Args...>
void StrAppend(std::string* target, const Args&... args) {
  StrAppend(target, belay::str_cat_internal::Adapt(args)...);
}

}  // namespace absl
#else
namespace belay {

inline std::string_view ToAbsl(std::string_view s) { return s; }
inline std::string_view FromAbsl(std::string_view s) { return s; }

}  // namespace belay
#endif  // ABSL_USES_STD_STRING_VIEW

#endif  // BELAY_RUNTIME_CORE_STR_CAT_H_
