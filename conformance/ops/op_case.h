// Conformance vectors of operators, parsed from JSON. conformance/opcases/README.md defines the
// fields.
//
// Parsing is strict. An unknown field, an unknown kind of value, or a tensor whose bytes do not fit
// its shape is an error.
#ifndef BELAY_CONFORMANCE_OPS_OP_CASE_H_
#define BELAY_CONFORMANCE_OPS_OP_CASE_H_

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"

namespace belay::conformance {

struct CaseTensor {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Strides strides;  // in elements; contiguous if the file has none
  int64_t storage_offset = 0;
  // From element 0 of the storage to the last element used. nullopt if the contents are
  // unspecified.
  std::optional<std::string> data;
};

struct CaseAny {};     // a result that is not compared
struct CaseLayout {};  // strided
struct CaseDevice {};  // cpu

using CaseValue =
    std::variant<None, CaseAny, CaseTensor, int64_t, double, bool, std::complex<double>,
                 std::string, std::vector<int64_t>, std::vector<double>, std::vector<bool>,
                 std::vector<std::optional<CaseTensor>>,  // tensors and optional_tensors
                 DType, MemoryFormat, CaseLayout, CaseDevice>;

struct CaseError {
  std::string error_class;
  std::string torch_message;
};

enum class CaseCheck : uint8_t { kBits, kValues, kMeta };

struct OpCase {
  std::string id;
  std::vector<CaseValue> args;
  std::vector<std::pair<std::string, CaseValue>> kwargs;
  // Exactly one of the two is set.
  std::optional<std::vector<CaseValue>> expect;
  std::optional<CaseError> error;
  std::vector<std::pair<std::string, CaseValue>> mutated;
  CaseCheck check = CaseCheck::kBits;
  double rtol = 0;
  double atol = 0;
  std::vector<std::string> tags;
};

struct OpCaseFile {
  std::string op;      // "aten.add.Tensor"
  std::string schema;  // as printed by PyTorch
  std::string family;
  std::map<std::string, bool> tags;
  std::vector<OpCase> cases;
};

// kInvalidArgument names the case and the field.
absl::StatusOr<OpCaseFile> ParseOpCaseFile(std::string_view json);
// Same, with the path in the message. kNotFound if the file cannot be read.
absl::StatusOr<OpCaseFile> ReadOpCaseFile(const std::string& path);

// Returns the JSON files of a folder, or of the folder that contains the given file, sorted.
// kNotFound if the folder has none.
absl::StatusOr<std::vector<std::string>> OpCaseFiles(const std::string& folder_or_file);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_OP_CASE_H_
