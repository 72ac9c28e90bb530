// Loads a program file and calls its methods in a few lines:
//
//   belay::Module module("model.belay");
//   std::vector<float> x(64);
//   ABSL_ASSIGN_OR_RETURN(const std::vector<belay::EValue> outputs,
//                         module.forward({belay::TensorView::Contiguous(
//                             belay::DType::kFloat32, {1, 64}, x.data())}));
//   const belay::TensorView* y = outputs[0].get_if<belay::TensorView>();
//
// It has the standard kernels and all backends of //backends. Applications that choose kernels,
// have several states, or must not allocate use Program and Method.
#ifndef BELAY_BINDINGS_CPP_MODULE_H_
#define BELAY_BINDINGS_CPP_MODULE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/backend/backend_options.h"
#include "runtime/core/arena.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/bank_memory.h"
#include "runtime/executor/execute_options.h"
#include "runtime/program/program.h"

namespace belay {

struct ModuleOptions {
  int threads = 1;                // of each call, 1 to 256; does not change results
  Program::Options program = {};  // access to the file, limits
  std::vector<std::string> data_files =
      {};  // parameter files, or .ptd files of ExecuTorch programs
  // Of all methods. Those of backends that a method does not use have no effect.
  BackendOptions backend_options = {};
  // Memory of the caller for banks (MethodOptions::banks), by method. That of a method which the
  // program does not have has no effect.
  std::map<std::string, std::vector<BankMemory>> banks = {};
  // Source of the memory of state and methods (MethodOptions::allocator); null: the C library's. Must
  // outlive the module.
  BlockAllocator* allocator = nullptr;
};

// A program file of Belay or of ExecuTorch (.pte). Functions are named as those of ExecuTorch's
// Module. The file is opened and each method is loaded at the first use. Methods share the buffers
// that have the same name and type in all of them; if a buffer differs, each method has its own
// state. Used by one thread at a time; one module per thread. Move-only.
class Module {
 public:
  // Does not read the file.
  explicit Module(std::string path, ModuleOptions options = {});
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  // Opens and validates the file, unless it is open.
  //   kInvalidArgument  invalid number of threads; the file violates a rule
  //   other errors of pte::OpenAnyProgram
  absl::Status load();
  // Loads a method, unless it is loaded. Errors of load, BackendSettings::Create and Method::Load.
  absl::Status load_method(const std::string& name);
  // Names of the methods. Errors of load.
  absl::StatusOr<std::vector<std::string>> method_names();

  // Sets the inputs, executes a method and returns its outputs. The memory of inputs must stay
  // valid during the call, and is written if the program mutates them. Tensors and strings of
  // outputs are views, valid until the next call of the same method.
  //   kInvalidArgument  wrong number of inputs
  //   errors of load_method, Method::SetInput and Method::Execute
  absl::StatusOr<std::vector<EValue>> execute(const std::string& name,
                                              absl::Span<const EValue> inputs = {},
                                              const ExecuteOptions& options = {});
  // execute("forward", …).
  absl::StatusOr<std::vector<EValue>> forward(absl::Span<const EValue> inputs = {},
                                              const ExecuteOptions& options = {});

  // Options of the backends of a method. Loads it. Errors of load_method, and of
  // Method::GetBackendOption and SetBackendOption.
  absl::StatusOr<OptionValue> get_backend_option(const std::string& method,
                                                 const std::string& backend,
                                                 const std::string& name);
  absl::Status set_backend_option(const std::string& method, const std::string& backend,
                                  const std::string& name, const OptionValue& value);

  // Resets the state of all loaded methods to its initial content.
  void reset_state();

 private:
  struct Loaded;
  std::string path_;
  ModuleOptions options_;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace belay

#endif  // BELAY_BINDINGS_CPP_MODULE_H_
