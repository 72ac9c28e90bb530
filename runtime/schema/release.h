// The release of this tree.
#ifndef BELAY_RUNTIME_SCHEMA_RELEASE_H_
#define BELAY_RUNTIME_SCHEMA_RELEASE_H_

namespace belay {

// Also in MODULE.bazel and bindings/python/wheel.bzl.
inline constexpr char kRelease[] = "0.1.0";

}  // namespace belay

#endif  // BELAY_RUNTIME_SCHEMA_RELEASE_H_
