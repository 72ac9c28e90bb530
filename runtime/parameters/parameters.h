// Replaces the replaceable parameters of programs when they are opened: adapters, fine-tuned heads.
//
//   auto parameters = std::make_shared<Parameters>();
//   ABSL_RETURN_IF_ERROR(parameters->AddFile("adapter.belay", {}));
//   ABSL_ASSIGN_OR_RETURN(const Program program, parameters->Open("model.belay", {}));
//
// A parameter file is a program file without methods (runtime/schema/file_format.md §10). Programs
// that are opened with different parameters map the same file: their other weights use the same
// memory.
#ifndef BELAY_RUNTIME_PARAMETERS_PARAMETERS_H_
#define BELAY_RUNTIME_PARAMETERS_PARAMETERS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/program/program.h"

namespace belay {

// Tensors by name, merged from several files. Adding is not thread-safe, opening is.
class Parameters : public std::enable_shared_from_this<Parameters> {
 public:
  struct Tensor {
    DType dtype = DType::kFloat32;
    Sizes sizes;
    DimOrder dim_order;
    absl::Span<const std::byte> bytes;  // exactly the dense tensor
    std::string source = {};            // for messages: the file
  };

  // Adds a tensor whose bytes `owner` keeps alive; null: they outlive the programs.
  //   kInvalidArgument  another source has a tensor of this name; names both
  absl::Status Add(std::string_view name, Tensor tensor, std::shared_ptr<const void> owner);
  // Adds all tensors of a parameter file. On error, adds nothing.
  //   errors of Program::Open, which verifies the file's signature if the options have a verifier
  //   kInvalidArgument  a file with methods, or with data that is not a tensor; a name that another
  //                     file has
  absl::Status AddFile(const std::string& path, const Program::Options& options);
  // As AddFile, from memory; `source` names it in messages.
  absl::Status AddFileBytes(std::shared_ptr<const void> owner, absl::Span<const std::byte> bytes,
                            const Program::Options& options, const std::string& source);

  // Opens a program that uses these tensors instead of its own, and keeps this object alive. The
  // object must be owned by a std::shared_ptr.
  //   errors of Program::Open
  //   kInvalidArgument  the program has no tensor of a name, it is not replaceable, or it has
  //                     another dtype, other sizes or another order; lists what there is
  absl::StatusOr<Program> Open(const std::string& path, const Program::Options& options) const;
  absl::StatusOr<Program> OpenBytes(std::shared_ptr<const void> owner,
                                    absl::Span<const std::byte> bytes,
                                    const Program::Options& options) const;

  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }

 private:
  // Adds all tensors of the parameter file that `open` opens.
  absl::Status AddAll(Program::Options options, const std::string& source,
                      const std::function<absl::StatusOr<Program>(const Program::Options&)>& open);

  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PARAMETERS_PARAMETERS_H_
