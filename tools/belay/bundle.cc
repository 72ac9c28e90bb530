// `belay bundle`: stores test cases in an ExecuTorch program.
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/format/bundled_program.h"
#include "executorch/reader/flat_file.h"
#include "executorch/writer/bundled_program_writer.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/program.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/command.h"
#include "tools/belay/method_folder.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/same_file.h"

namespace belay::tools {
namespace {

// A case and the arrays that its values point to.
struct CaseFiles {
  CallInputs inputs;
  std::vector<NpyArray> outputs;
};

// Returns the array as the tensor of an output: bits of bfloat16 and float8 have other dtypes in
// files.
TensorView OutputView(const ValuePlan& output, const NpyArray& array) {
  TensorView view = array.view();
  const auto* tensor = std::get_if<TensorPlan>(&output);
  if (tensor != nullptr && NpyCarrier(tensor->dtype) == view.dtype) view.dtype = tensor->dtype;
  return view;
}

// Reads input_<i>.npy and output_<i>.npy of a folder. `files` owns the arrays.
absl::StatusOr<pte::BundledCase> ReadCase(const MethodPlan& plan, const std::string& folder,
                                          CaseFiles& files) {
  ABSL_ASSIGN_OR_RETURN(files.inputs, InputsFromFolder(plan, folder));
  pte::BundledCase test{.inputs = files.inputs.values, .expected_outputs = {}};
  files.outputs.reserve(plan.outputs.size());
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(NpyArray array, ReadNpyFile(absl::StrCat(folder, "/output_", i, ".npy")));
    files.outputs.push_back(std::move(array));
    test.expected_outputs.emplace_back(
        OutputView(plan.values[plan.outputs[i]], files.outputs.back()));
  }
  return test;
}

absl::StatusOr<std::string> Bundle(const BundleOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.program));
  if (!pte::IsProgramFile(file->bytes())) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.program, ": expected an ExecuTorch program (.pte)"));
  }
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      OpenProgramFile(options.program, {options.limits.ForPrograms(), options.data}));
  std::list<CaseFiles> files;
  std::vector<pte::BundledMethod> methods;
  for (const std::string& text : options.cases) {
    const MethodFolder folder = ParseMethodFolder(text, "forward");
    ABSL_ASSIGN_OR_RETURN(const MethodPlan* plan, program.FindMethod(folder.method));
    ABSL_ASSIGN_OR_RETURN(pte::BundledCase test,
                          ReadCase(*plan, folder.folder, files.emplace_back()));
    pte::BundledMethod* method = nullptr;
    for (pte::BundledMethod& known : methods) {
      if (known.name == folder.method) method = &known;
    }
    if (method == nullptr) method = &methods.emplace_back(pte::BundledMethod{folder.method, {}});
    method->cases.push_back(std::move(test));
  }
  absl::StatusOr<std::string> bytes = pte::SerializeBundledProgram(file->bytes(), methods);
  if (!bytes.ok()) return Annotate(bytes.status(), options.program);
  return bytes;
}

absl::Status WriteBundle(const BundleOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::string bytes, Bundle(options));
  const std::string_view piece = bytes;
  ABSL_RETURN_IF_ERROR(WriteFileAtomically(options.output, absl::MakeConstSpan(&piece, 1)));
  std::cout << OneLine(options.output) << ": " << bytes.size() << " bytes, " << options.cases.size()
            << (options.cases.size() == 1 ? " test case\n" : " test cases\n");
  return absl::OkStatus();
}

}  // namespace

int BundleProgram(const BundleOptions& options) {
  const WithinLimits limits(options.limits, {options.program});
  return Report(WriteBundle(options));
}

Command BundleCommand() {
  const auto bundle = std::make_shared<BundleOptions>();
  return {
      .name = "bundle",
      .about =
          "Stores test cases in an ExecuTorch program (.pte): writes a bundled program (.bpte).",
      .options = WithLimits(
          {{"program", &bundle->program, "the program (.pte)", {.required = true}},
           {"-o,--output", &bundle->output, "the bundled program (.bpte)", {.required = true}},
           {"--case",
            &bundle->cases,
            "a folder with input_<i>.npy and output_<i>.npy, for the method 'forward', or "
            "METHOD=FOLDER (repeatable)",
            {.required = true, .repeatable = true, .one_value = true}},
           DataOption(&bundle->data)},
          &bundle->limits),
      .footer =
          "'belay verify model.bpte' executes the test cases.\n"
          "Example: belay bundle model.pte --case case0 --case case1 -o model.bpte",
      .owned = bundle,
      .run = [bundle] { return BundleProgram(*bundle); },
      .problem = [bundle]() -> std::string {
        if (!IsSameFile(bundle->output, bundle->program)) return "";
        return "the output would overwrite the program";
      },
  };
}

}  // namespace belay::tools
