#include "exir/import/import.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "absl/container/btree_set.h"
#include "exir/import/byte_budget.h"
#include "exir/import/container.h"
#include "exir/import/import_notes.h"
#include "exir/import/json.h"
#include "exir/import/payloads.h"
#include "exir/import/program_reader.h"
#include "exir/import/tensor_subclasses.h"
#include "exir/import/unsupported.h"
#include "exir/ir/mapped_pages.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Verifies the program; failures are reported as errors of the file.
absl::Status VerifyImported(const ExportedProgram& program) {
  const absl::Status status = Verify(program);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("the program is not well formed: ", FromAbsl(status.message())));
}

// Returns, for example, "f32[4,3]".
std::string DescribeTensor(DType dtype, absl::Span<const int64_t> sizes) {
  return absl::StrCat(DTypeShortName(dtype), FormatSizes(sizes));
}

// Attaches tensors to the inputs that name them. Checks that each exists, with the dtype and the
// sizes of the graph input.
absl::Status AttachPayloads(Payloads payloads, ExportedProgram& program,
                            UnsupportedReport& unsupported) {
  program.state_dict = std::move(payloads.weights);
  program.constants = std::move(payloads.constants);
  const Graph& top = program.top();
  for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    if (!NamesTensor(spec.kind)) continue;
    const Value& input = top.value(top.inputs()[i]);
    const std::string what =
        absl::StrCat(InputKindName(spec.kind), " '", spec.target, "' (input '", input.name, "')");
    const ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr) {
      auto unusable = payloads.unusable.find(spec.target);
      if (unusable == payloads.unusable.end()) {  // a component of a tensor that cannot be read
        unusable = payloads.unusable.find(spec.target.substr(0, spec.target.rfind('.')));
      }
      if (unusable == payloads.unusable.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(what, ": the archive has no tensor of this name"));
      }
      unsupported.Add(what, std::string(unusable->second.message()));
      continue;
    }
    const TensorMeta* meta = input.tensor();
    if (meta == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(what, ": the input is not a tensor"));
    bool same = tensor->dtype() == meta->dtype && tensor->sizes().size() == meta->rank();
    for (int d = 0; same && d < meta->rank(); ++d) {
      same = meta->sizes[d].AsInt().value_or(tensor->sizes()[d]) == tensor->sizes()[d];
    }
    if (!same) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the archive has ", DescribeTensor(tensor->dtype(), tensor->sizes()),
                       ", but the graph expects ", PrintType(input.type)));
    }
  }
  return absl::OkStatus();
}

// Address range of a tensor's elements. Its layout was checked on creation.
struct Extent {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
Extent ExtentOf(const ConstantTensor& tensor) {
  const std::byte* base = tensor.storage().bytes.data();
  const int64_t size = static_cast<int64_t>(DTypeSize(tensor.dtype()));
  int64_t last = tensor.storage_offset();
  for (int d = 0; d < tensor.sizes().size(); ++d) {
    if (tensor.sizes()[d] == 0) return {};
    last += (tensor.sizes()[d] - 1) * tensor.strides()[d];
  }
  return {base + tensor.storage_offset() * size, base + (last + 1) * size};
}

// Reports mutated tensors that share memory. A program gives each name its own memory. That is
// correct for tied weights that are only read, but a write to one would not be visible through the
// others (docs/pt2-format.md §14 item 17).
void ReportMutatedAliases(const ExportedProgram& program, UnsupportedReport& unsupported) {
  const absl::btree_set<std::string_view> mutated = MutatedState(program.signature);
  if (mutated.empty()) return;
  struct Named {
    Extent extent;
    const InputSpec* spec;
  };
  std::vector<Named> named;
  for (const InputSpec& spec : program.signature.inputs) {
    const ConstantTensor* tensor = program.FindConstant(spec);
    if (tensor == nullptr) continue;
    const Extent extent = ExtentOf(*tensor);
    if (extent.begin != extent.end) named.push_back({extent, &spec});
  }
  std::sort(named.begin(), named.end(), [](const Named& a, const Named& b) {
    return std::less<>()(a.extent.begin, b.extent.begin);
  });
  // Maximum end so far, over all tensors and over the mutated ones.
  const Named* furthest = nullptr;
  const Named* furthest_mutated = nullptr;
  const auto reaches = [](const Named* a, const Named& b) {
    return a != nullptr && std::less<>()(b.extent.begin, a->extent.end) &&
           a->spec->target != b.spec->target;
  };
  const auto extend = [](const Named*& a, const Named& b) {
    if (a == nullptr || std::less<>()(a->extent.end, b.extent.end)) a = &b;
  };
  for (const Named& tensor : named) {
    const bool is_mutated = mutated.contains(tensor.spec->target);
    const Named* other = is_mutated ? furthest : furthest_mutated;
    if (reaches(other, tensor)) {
      const InputSpec& changed = is_mutated ? *tensor.spec : *other->spec;
      const InputSpec& alias = is_mutated ? *other->spec : *tensor.spec;
      unsupported.Add(absl::StrCat(InputKindName(changed.kind), " '", changed.target, "'"),
                      absl::StrCat("it is mutated, but shares memory with '", alias.target, "'"));
    }
    extend(furthest, tensor);
    if (is_mutated) extend(furthest_mutated, tensor);
  }
}

absl::StatusOr<ExportedProgram> Import(const Container& container, const OpRegistry& ops,
                                       const ImportOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::string model, container.ResolveModel(options.model_name));
  ByteBudget inflated("max_inflated_bytes", options.max_inflated_bytes);
  ByteBudget zero_filled("max_zero_filled_bytes", options.max_zero_filled_bytes);
  UnsupportedReport unsupported;

  ExportedProgram program(&ops);
  {
    std::string path;
    ABSL_ASSIGN_OR_RETURN(const Storage text, container.ReadModel(model, inflated, &path));
    ABSL_ASSIGN_OR_RETURN(const JsonDocument document,
                          JsonDocument::Parse(text.bytes, path, LimitsOfModel(options)));
    ABSL_ASSIGN_OR_RETURN(const ModelHeader header,
                          ReadModelHeader(document.root(), container.flat_version()));
    absl::StatusOr<ExportedProgram> read =
        ReadProgram(document.root(), header, ops, options, &unsupported);
    // Unsupported content takes precedence: missing parts may be a consequence of it.
    if (!read.ok()) return unsupported.empty() ? read.status() : unsupported.ToStatus();
    program = *std::move(read);
  }
  OpenTensorSubclasses(program);
  ABSL_ASSIGN_OR_RETURN(Payloads payloads,
                        ReadPayloads(container, model, options, inflated, zero_filled));
  const NoteNames zeros = std::move(payloads.zero_filled);
  ABSL_RETURN_IF_ERROR(AttachPayloads(std::move(payloads), program, unsupported));
  ReportMutatedAliases(program, unsupported);
  ABSL_RETURN_IF_ERROR(unsupported.ToStatus());
  ABSL_RETURN_IF_ERROR(VerifyImported(program));
  if (options.notes != nullptr) {
    for (std::string& note : ImportNotes(program, zeros)) options.notes->push_back(std::move(note));
  }
  return program;
}

absl::StatusOr<ExportedProgram> Import(Storage file, const OpRegistry& ops,
                                       const ImportOptions& given) {
  const ImportOptions options = OptionsForArchive(given, file.bytes.size());
  ABSL_ASSIGN_OR_RETURN(const Container container, Container::Open(std::move(file), options));
  return Import(container, ops, options);
}

absl::StatusOr<ArchiveInfo> Inspect(Storage file, const ImportOptions& given) {
  const size_t file_bytes = file.bytes.size();
  const ImportOptions options = OptionsForArchive(given, file_bytes);
  ABSL_ASSIGN_OR_RETURN(const Container container, Container::Open(std::move(file), options));
  ArchiveInfo info;
  info.file_bytes = file_bytes;
  for (const ZipReader::Entry& entry : container.zip().entries()) {
    info.entries.push_back({std::string(entry.name), entry.size, entry.compressed_size});
  }
  ByteBudget inflated("max_inflated_bytes", options.max_inflated_bytes);
  for (const std::string& name : container.model_names()) {
    std::string path;
    ABSL_ASSIGN_OR_RETURN(const Storage text, container.ReadModel(name, inflated, &path));
    ABSL_ASSIGN_OR_RETURN(const JsonDocument document,
                          JsonDocument::Parse(text.bytes, path, LimitsOfModel(options)));
    ABSL_ASSIGN_OR_RETURN(ModelHeader header,
                          ReadModelHeader(document.root(), container.flat_version()));
    ArchiveInfo::Model model;
    model.name = name;
    model.era = std::string(ContainerEraName(container.EraOf(name)));
    model.schema_major = header.schema.major;
    model.schema_minor = header.schema.minor;
    model.torch_version = std::move(header.torch_version);
    model.verifiers = std::move(header.verifiers);
    model.opset = std::move(header.opset);
    info.models.push_back(std::move(model));
  }
  return info;
}

}  // namespace

absl::StatusOr<ExportedProgram> ImportBytes(std::shared_ptr<const void> owner,
                                            absl::Span<const std::byte> bytes,
                                            const OpRegistry& ops, const ImportOptions& options) {
  absl::StatusOr<ExportedProgram> program = Import(Storage{std::move(owner), bytes}, ops, options);
  if (!program.ok()) return Printable(program.status());
  return program;
}

absl::StatusOr<ExportedProgram> ImportFile(const std::string& path, const OpRegistry& ops,
                                           const ImportOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<ExportedProgram> program =
      ImportBytes(OwnerOfMapping(std::move(file)), bytes, ops, options);
  if (!program.ok()) return Annotate(program.status(), path);
  if (!options.keep_pages) ReleasePages(bytes);  // the checksums read every page
  return program;
}

absl::StatusOr<ArchiveInfo> InspectArchive(std::shared_ptr<const void> owner,
                                           absl::Span<const std::byte> bytes,
                                           const ImportOptions& options) {
  absl::StatusOr<ArchiveInfo> info = Inspect(Storage{std::move(owner), bytes}, options);
  if (!info.ok()) return Printable(info.status());
  return info;
}

absl::StatusOr<ArchiveInfo> InspectArchiveFile(const std::string& path,
                                               const ImportOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<ArchiveInfo> info = InspectArchive(std::move(file), bytes, options);
  if (!info.ok()) return Annotate(info.status(), path);
  return info;
}

}  // namespace belay::exir
