#include "runtime/kernels/kernel_families.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/reference/families.h"

namespace belay {

#define BELAY_KERNEL_FAMILY(function, file) absl::Span<const Kernel> function();
#include "runtime/kernels/highway_families.inc"
#undef BELAY_KERNEL_FAMILY

namespace {

// Maps "DataMovement" to data_movement.cc.
KernelFamily ReferenceFamily(std::string_view name, absl::Span<const Kernel> rows) {
  std::string file = "runtime/kernels/reference/";
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(name[i])) file += '_';
    file += absl::ascii_tolower(name[i]);
  }
  return {absl::StrCat("belay::", name, "Kernels"), file + ".cc", rows};
}

}  // namespace

std::vector<KernelFamily> StandardKernelFamilies() {
  std::vector<KernelFamily> families;
#define BELAY_OP_FAMILY(family) families.push_back(ReferenceFamily(#family, family##Kernels()));
#include "runtime/kernels/reference/families.inc"
#undef BELAY_OP_FAMILY
#define BELAY_KERNEL_FAMILY(function, file) \
  families.push_back({"belay::" #function, file, function()});
#include "runtime/kernels/highway_families.inc"
#undef BELAY_KERNEL_FAMILY
  return families;
}

}  // namespace belay
