// Lowers an archive in memory with the C API, then opens and executes the program. The input is the
// JSON of a program, in an otherwise valid archive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bindings/c/belay.h"
#include "bindings/c/belay_compiler.h"
#include "exir/import/testing/archive.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "nlohmann/json.hpp"

namespace belay::fuzz {
namespace {

constexpr uint64_t kMaxBytes = 16 << 20;
constexpr uint64_t kMaxWork = 10'000'000;

constexpr std::initializer_list<absl::StatusCode> kLoweringCodes = {
    absl::StatusCode::kDataLoss,           absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kUnimplemented,      absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kNotFound,           absl::StatusCode::kDeadlineExceeded,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kOutOfRange};

// Checks the status, the message and the list of nodes of a function's error, and frees it.
void CheckError(std::string_view stage, belay_status status, belay_error* error,
                std::initializer_list<absl::StatusCode> allowed) {
  const auto code = static_cast<absl::StatusCode>(status);
  Require(CheckTyped(stage, absl::Status(code, belay_error_message(error)), allowed));
  if (belay_error_status(error) != status ||
      nlohmann::json::parse(belay_error_nodes(error), nullptr, false).is_discarded()) {
    Require(absl::InternalError(absl::StrCat(stage, ": the error has another status, or no list")));
  }
  belay_error_free(error);
}

// Calls a method with zeros of the largest sizes, within limits.
void Call(const belay_program* program, const char* name) {
  belay_method* method = nullptr;
  belay_error* error = nullptr;
  const belay_status loaded = belay_method_load(program, name, nullptr, &method, &error);
  CheckError("load", loaded, error, kExecutionCodes);
  if (loaded != BELAY_OK) return;
  const size_t count = belay_method_num_inputs(method);
  std::vector<belay_value> inputs(count), outputs(belay_method_num_outputs(method));
  std::vector<std::vector<std::byte>> memory(count);
  for (size_t i = 0; i < count; ++i) {
    belay_input_info info = {};
    error = nullptr;
    CheckError("input", belay_method_input_info(method, i, &info, &error), error, {});
    inputs[i].kind = info.kind == BELAY_KIND_OTHER ? BELAY_KIND_NONE : info.kind;
    if (info.kind != BELAY_KIND_TENSOR) continue;
    uint64_t bytes = belay_dtype_size(info.tensor.dtype);
    for (int32_t d = 0; d < info.tensor.rank; ++d) {
      const auto size = static_cast<uint64_t>(info.tensor.sizes[d]);
      bytes = size == 0 ? 0 : std::min(bytes, kMaxBytes / size + 1) * size;
    }
    if (bytes > kMaxBytes) {
      belay_method_free(method);
      return;
    }
    memory[i].resize(bytes);
    inputs[i].tensor = belay_tensor_contiguous(info.tensor.dtype, info.tensor.rank,
                                               info.tensor.sizes, memory[i].data());
  }
  error = nullptr;
  const belay_status called = belay_method_call(method, inputs.data(), count, outputs.data(),
                                                outputs.size(), nullptr, &error);
  CheckError("call", called, error, kExecutionCodes);
  belay_method_free(method);
}

void LowerAndCall(const std::string& bytes) {
  belay_archive archive = {};
  archive.struct_size = sizeof(archive);
  archive.bytes = bytes.data();
  archive.size = bytes.size();
  belay_lower_options options = {};
  options.struct_size = sizeof(options);
  options.limit_nodes = 1'000;
  options.limit_memory_bytes = kMaxBytes;
  options.limit_work = kMaxWork;
  belay_lowered* lowered = nullptr;
  belay_error* error = nullptr;
  const belay_status status = belay_lower(&archive, 1, &options, &lowered, &error);
  CheckError("lower", status, error, kLoweringCodes);
  if (status != BELAY_OK) return;
  if (nlohmann::json::parse(belay_lowered_report_json(lowered), nullptr, false).is_discarded()) {
    Require(absl::InternalError("the report of lowering is malformed"));
  }
  belay_open_options limits = {};
  limits.struct_size = sizeof(limits);
  limits.limit_arena_bytes = kMaxBytes;
  limits.limit_work = kMaxWork;
  belay_program* program = nullptr;
  error = nullptr;
  const belay_status opened = belay_program_open_bytes(
      belay_lowered_bytes(lowered), belay_lowered_size(lowered), &limits, &program, &error);
  // A program that was lowered is valid.
  CheckError("open", opened, error, {absl::StatusCode::kResourceExhausted});
  if (opened == BELAY_OK) Call(program, belay_program_method_name(program, 0));
  belay_program_free(program);
  belay_lowered_free(lowered);
}

}  // namespace
}  // namespace belay::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const std::string json(reinterpret_cast<const char*>(data), size);
  fuzz::LowerAndCall(exir::PackArchive(exir::DefaultFiles(json)));
  return 0;
}
