// Kernel interface: a function that computes one operator from resolved arguments.
//
// A kernel is named by its operator ("aten.add.Tensor") and sees that operator's functional schema:
// all arguments in schema order with defaults filled in, then one output per return. Kernels are
// total. For any shapes, dtypes and scalars in a program file, a kernel computes the right result
// or returns an error. It accesses no byte outside its operands. Shapes are computed by the
// formulas of runtime/kernel_interface/shape_rules/, which the compiler's meta kernels also instantiate.
// KernelContext::Output receives them and rejects a size that differs from a static output or
// exceeds a dynamic one.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/schema/operator_facts.h"

namespace belay {

// Provides memory for outputs. The executor's implementation checks planned bounds; the
// interpreter's allocates.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Gives `tensor` these sizes, strides in its own dim order, and memory. Changes nothing on error.
  //   kInvalidArgument   the output is static and its sizes differ
  //   kOutOfRange        a size is above the bound planned for the dimension (message:
  //                      dimension, bound, value)
  //   kResourceExhausted out of memory
  virtual absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) = 0;
  // Checks that the tensor in this argument's slot is writable.
  //   kInvalidArgument   it is a constant, or caller memory that the program must not modify
  virtual absl::Status CheckMutable(const EValue& argument) { return absl::OkStatus(); }
};

// An argument that the operator mutates, as stored in a parsed call.
struct MutableArgument {
  int position = -1;
};

// The arguments of one call. Created once per instruction at load; calling a kernel allocates
// nothing. A program file decides the kind of each argument. If a value is of another kind,
// accessors return kInvalidArgument, naming the argument's position and both kinds.
class KernelContext {
 public:
  KernelContext(absl::Span<EValue* const> arguments, absl::Span<EValue* const> outputs,
                OutputAllocator* allocator, absl::Span<std::byte> scratch,
                ThreadPool* threads = nullptr)
      : arguments_(arguments),
        outputs_(outputs),
        allocator_(allocator),
        scratch_(scratch),
        threads_(threads) {}

  int num_arguments() const { return static_cast<int>(arguments_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // kInvalidArgument unless the call has exactly these numbers of arguments and outputs.
  absl::Status CheckArity(int arguments, int outputs) const;

  // Precondition of all accessors: 0 <= i < num_arguments() (CheckArity).
  const EValue& argument(int i) const { return *arguments_[i]; }
  absl::StatusOr<const TensorView*> Tensor(int i) const;
  // Returns the tensor that an operator with a mutable argument ("self!") writes to.
  // kInvalidArgument if its memory may overlap that of another argument. Opening a program only
  // proves that outputs are disjoint, and the argument need not be an output.
  absl::StatusOr<TensorView*> MutableTensor(MutableArgument argument) const;
  absl::StatusOr<int64_t> Int(int i) const;    // an int or bool value
  absl::StatusOr<double> Double(int i) const;  // any real number
  absl::StatusOr<bool> Bool(int i) const;      // a bool value
  absl::StatusOr<EValue> Scalar(int i) const;  // int64, double, bool or complex, as given
  absl::StatusOr<std::string_view> String(int i) const;
  absl::StatusOr<DType> Dtype(int i) const;
  // Returns a list of at most kMaxRank ints (more: kInvalidArgument). As in PyTorch, an int counts
  // as a list of one.
  absl::StatusOr<Sizes> IntList(int i) const;
  absl::StatusOr<ListView> List(int i) const;  // any list; read elements with EValue::get_if

  // Resizes output i to these sizes and gives it memory. The meta kernel fixed its dtype and dim
  // order: the kernel writes in that dtype (kInvalidArgument if it can't) and through the view's
  // strides. The view is valid for the duration of the call.
  absl::StatusOr<TensorView*> Output(int i, absl::Span<const int64_t> sizes);
  // Element `k` of a Tensor[] output.
  absl::StatusOr<TensorView*> OutputListElement(int i, int k, absl::Span<const int64_t> sizes);
  // Number of elements of a Tensor[] output.
  absl::StatusOr<int> OutputListSize(int i) const;
  // Output i as planned, before resizing: dtype, rank, and at load time the maximum sizes.
  absl::StatusOr<const TensorView*> PlannedOutput(int i) const;
  // Sets a symbolic output (sym_size, item, arithmetic on sizes).
  void SetScalarOutput(int i, EValue value) { *outputs_[i] = value; }
  EValue* output_slot(int i) const { return outputs_[i]; }

  // Working memory, 64-byte aligned, contents undefined. At least Kernel::ScratchBytes long. A
  // kernel that needs more at run time returns kInternal.
  absl::Span<std::byte> scratch() const { return scratch_; }

  // Number of threads that may work on the call; the same at load and at run time. A kernel that
  // splits its work produces the same bits for any number of threads.
  int num_threads() const { return threads_ == nullptr ? 1 : threads_->size(); }
  // Calls body(part) for each part in [0, parts), possibly concurrently.
  void RunParts(int parts, absl::FunctionRef<void(int)> body) const;

 private:
  absl::Span<EValue* const> arguments_;
  absl::Span<EValue* const> outputs_;
  OutputAllocator* allocator_;
  absl::Span<std::byte> scratch_;
  ThreadPool* threads_;
};

enum class KernelEngine : uint8_t { kReference = 1, kHighway = 2 };
std::string_view KernelEngineName(KernelEngine engine);  // "reference", "highway"

// Maximum size and the alignment of a parsed call (Kernel::call_bytes).
inline constexpr size_t kMaxCallBytes = 2048, kCallAlignment = 16;

// One row of a kernel table. A constant; rows are stored in static arrays.
//
// Rows are created by KernelRow (kernel_arguments.h). A call is parsed by the argument names of the
// operator's schema: once at program load if no argument is computed, otherwise before each run.
struct Kernel {
  std::string_view op;    // "aten.add.Tensor", "aten.relu.default", "sym.mul.default"
  std::string_view name;  // for reports: "AddF32"
  KernelEngine engine;
  std::string_view signature = "";  // "self dim keepdim -> 2"
  // Facts of a backend's private operator. null: FactsOf(op).
  const OperatorFacts* facts = nullptr;
  size_t call_bytes = 0;
  absl::Status (*read_call)(const KernelContext& context, std::string_view signature,
                            void* memory) = nullptr;
  absl::Status (*run_call)(KernelContext& context, const void* call) = nullptr;
  // Returns whether this kernel supports the call's dtypes, ranks, layouts and constant arguments,
  // at these and all smaller sizes. Called once, at program load, with all tensors at their maximum
  // sizes (data may be null). null: supports every call.
  bool (*accepts_call)(const KernelContext& context, const void* call) = nullptr;
  // Returns the working memory that suffices for the call at these and all smaller sizes. null:
  // none.
  uint64_t (*scratch_bytes_of_call)(const KernelContext& context, const void* call) = nullptr;
  // Precomputes into the call everything that depends on its operands' sizes and addresses, which
  // must not change for the lifetime of the call. Returns false if the call can't be fixed. Set
  // both functions or neither.
  bool (*fix_call)(const KernelContext& context, void* call) = nullptr;
  // Computes a fixed call, any number of times. Reads no EValue and can't fail.
  void (*run_fixed_call)(const void* call) = nullptr;

  const OperatorFacts& Facts() const { return facts != nullptr ? *facts : FactsOf(op); }

  // Convenience forms of the functions above that parse a temporary call.
  bool Accepts(const KernelContext& context) const;
  // Returns 0 for a call that can't be parsed: it fails before it uses scratch.
  uint64_t ScratchBytes(const KernelContext& context) const;
  absl::Status Run(KernelContext& context) const;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_H_
