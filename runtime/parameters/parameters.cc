#include "runtime/parameters/parameters.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/named_tensors.h"

namespace belay {
namespace {

using Tensors = std::map<std::string, Parameters::Tensor, std::less<>>;
using Opener = std::function<absl::StatusOr<Program>(const Program::Options&)>;

std::string Describe(DType dtype, const Sizes& sizes, const DimOrder& order) {
  std::string text = absl::StrCat(DTypeName(dtype), " ", FormatSizes(sizes));
  if (!std::is_sorted(order.begin(), order.end())) absl::StrAppend(&text, ", not row-major");
  return text;
}

// Records the tensors of a parameter file.
class Collected final : public NamedTensors {
 public:
  absl::Status Choose(const NamedTensor& tensor) override {
    tensors.emplace(tensor.key, Parameters::Tensor{.dtype = tensor.dtype,
                                                   .sizes = tensor.sizes,
                                                   .dim_order = tensor.dim_order,
                                                   .bytes = tensor.bytes});
    return absl::OkStatus();
  }
  Tensors tensors;
};

// Replaces the tensors of one program.
class Replaced final : public NamedTensors {
 public:
  explicit Replaced(std::shared_ptr<const Parameters> parameters)
      : parameters_(std::move(parameters)) {}

  absl::Status Choose(const NamedTensor& tensor) override {
    if (tensor.replaceable && replaceable_.size() < kMostListed) {
      replaceable_.push_back(Quoted(tensor.key));
    }
    count_ += tensor.replaceable ? 1 : 0;
    const auto it = parameters_->tensors().find(tensor.key);
    if (it == parameters_->tensors().end()) return absl::OkStatus();
    const Parameters::Tensor& other = it->second;
    const auto refuse = [&](std::string_view problem) {
      return absl::InvalidArgumentError(
          absl::StrCat(other.source, ": parameter ", Quoted(tensor.key), ": ", problem));
    };
    if (!tensor.replaceable) return refuse("the program does not allow to replace it");
    if (other.dtype != tensor.dtype || other.sizes != tensor.sizes ||
        other.dim_order != tensor.dim_order) {
      return refuse(absl::StrCat("expected ",
                                 Describe(tensor.dtype, tensor.sizes, tensor.dim_order), ", got ",
                                 Describe(other.dtype, other.sizes, other.dim_order)));
    }
    used_.insert(it->first);
    tensor.bytes = other.bytes;
    return absl::OkStatus();
  }

  // Checks that the program has all parameters.
  absl::Status CheckAllUsed() const {
    std::vector<std::string> unknown;
    for (const auto& [name, tensor] : parameters_->tensors()) {
      if (used_.contains(name)) continue;
      unknown.push_back(absl::StrCat(Quoted(name), " (", tensor.source, ")"));
    }
    if (unknown.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown parameters ", ListFirst(unknown, ", "),
        "; replaceable are: ", count_ == 0 ? "none" : ListFirst(replaceable_, ", ", count_)));
  }

 private:
  const std::shared_ptr<const Parameters> parameters_;
  std::set<std::string_view> used_;
  std::vector<std::string> replaceable_;
  size_t count_ = 0;
};

absl::Status Repeated(std::string_view name, std::string_view first, std::string_view second) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", Quoted(name), " is in ", first, " and in ", second));
}

absl::StatusOr<Program> OpenReplaced(std::shared_ptr<const Parameters> parameters,
                                     Program::Options options, const Opener& open) {
  const auto replaced = std::make_shared<Replaced>(std::move(parameters));
  options.named_tensors = replaced;
  ABSL_ASSIGN_OR_RETURN(Program program, open(options));
  ABSL_RETURN_IF_ERROR(replaced->CheckAllUsed());
  return program;
}

}  // namespace

absl::Status Parameters::Add(std::string_view name, Tensor tensor,
                             std::shared_ptr<const void> owner) {
  if (const auto it = tensors_.find(name); it != tensors_.end()) {
    return Repeated(name, it->second.source, tensor.source);
  }
  tensors_.emplace(name, std::move(tensor));
  if (owner != nullptr) owners_.push_back(std::move(owner));
  return absl::OkStatus();
}

absl::Status Parameters::AddAll(Program::Options options, const std::string& source,
                                const Opener& open) {
  const auto collected = std::make_shared<Collected>();
  options.named_tensors = collected;
  ABSL_ASSIGN_OR_RETURN(Program program, open(options));
  if (!program.methods().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source,
                     ": expected a parameter file, which has no methods, got a program "
                     "with the method ",
                     Quoted(program.methods()[0].name)));
  }
  Tensors& added = collected->tensors;
  for (const NamedDataPlan& data : program.named_data()) {
    if (added.contains(data.key)) continue;
    return absl::InvalidArgumentError(absl::StrCat(source, ": expected only tensors, named data ",
                                                   Quoted(data.key), " has no layout"));
  }
  for (auto& [name, tensor] : added) {
    if (const auto it = tensors_.find(name); it != tensors_.end()) {
      return Repeated(name, it->second.source, source);
    }
    tensor.source = source;
  }
  tensors_.merge(added);
  owners_.push_back(std::make_shared<const Program>(std::move(program)));
  return absl::OkStatus();
}

absl::Status Parameters::AddFile(const std::string& path, const Program::Options& options) {
  return AddAll(options, path, [&](const Program::Options& o) { return Program::Open(path, o); });
}

absl::Status Parameters::AddFileBytes(std::shared_ptr<const void> owner,
                                      absl::Span<const std::byte> bytes,
                                      const Program::Options& options, const std::string& source) {
  return AddAll(options, source, [&](const Program::Options& o) -> absl::StatusOr<Program> {
    absl::StatusOr<Program> program = Program::OpenBytes(std::move(owner), bytes, o);
    if (!program.ok()) return Annotate(program.status(), source);
    return program;
  });
}

absl::StatusOr<Program> Parameters::Open(const std::string& path,
                                         const Program::Options& options) const {
  return OpenReplaced(shared_from_this(), options,
                      [&](const Program::Options& o) { return Program::Open(path, o); });
}

absl::StatusOr<Program> Parameters::OpenBytes(std::shared_ptr<const void> owner,
                                              absl::Span<const std::byte> bytes,
                                              const Program::Options& options) const {
  return OpenReplaced(shared_from_this(), options, [&](const Program::Options& o) {
    return Program::OpenBytes(std::move(owner), bytes, o);
  });
}

}  // namespace belay
