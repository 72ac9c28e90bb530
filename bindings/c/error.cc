#include <new>

#include "bindings/c/handles.h"

namespace belay::c {

// The values must be identical in both enums.
static_assert(BELAY_UNAUTHENTICATED == static_cast<int>(absl::StatusCode::kUnauthenticated));
static_assert(BELAY_DATA_LOSS == static_cast<int>(absl::StatusCode::kDataLoss));

belay_status Report(const absl::Status& status, belay_error** error) {
  if (status.ok()) return BELAY_OK;
  const auto code = static_cast<belay_status>(status.code());
  if (error != nullptr) {
    *error = new (std::nothrow) belay_error{code, std::string(status.message())};
  }
  return code;
}

absl::Status Missing(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, ", got NULL"));
}

absl::Status NoMemory(std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", what));
}

absl::Status OutOfRange(std::string_view what, size_t i, size_t count) {
  return absl::OutOfRangeError(absl::StrCat(what, " ", i, " does not exist, there are ", count));
}

absl::Status BadStructSize(size_t given) {
  return absl::InvalidArgumentError(
      absl::StrCat("struct_size: expected sizeof the structure, got ", given));
}

absl::Status UnknownFields(size_t given, size_t known) {
  return absl::UnimplementedError(absl::StrCat(
      "the options have ", given, " bytes, this library knows ", known, "; the others must be 0"));
}

absl::StatusOr<std::vector<std::string>> Strings(const char* const* list, size_t count,
                                                 std::string_view what) {
  if (list == nullptr && count > 0) return Missing(what);
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    if (list[i] == nullptr) return Missing(absl::StrCat(what, "[", i, "]"));
    strings.emplace_back(list[i]);
  }
  return strings;
}

}  // namespace belay::c

uint32_t belay_abi_version(void) { return BELAY_ABI_VERSION; }

const char* belay_status_name(belay_status status) {
  static constexpr const char* kNames[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  const auto i = static_cast<size_t>(status);
  return i < std::size(kNames) ? kNames[i] : "";
}

const char* belay_error_message(const belay_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
belay_status belay_error_status(const belay_error* error) {
  return error == nullptr ? BELAY_OK : error->status;
}
const char* belay_error_nodes(const belay_error* error) {
  return error == nullptr ? "[]" : error->nodes.c_str();
}
void belay_error_free(belay_error* error) { delete error; }

const void* belay_bytes_data(const belay_bytes* bytes) {
  return bytes == nullptr ? nullptr : bytes->bytes.c_str();
}
size_t belay_bytes_size(const belay_bytes* bytes) {
  return bytes == nullptr ? 0 : bytes->bytes.size();
}
void belay_bytes_free(belay_bytes* bytes) { delete bytes; }
