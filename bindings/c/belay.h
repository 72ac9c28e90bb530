/* C API that runs program files. belay_compiler.h has the functions that lower and check them.
 *
 *   belay_error* error = NULL;
 *   belay_program* program = NULL;
 *   belay_method* method = NULL;
 *   if (belay_program_open("model.belay", NULL, &program, &error) != BELAY_OK ||
 *       belay_method_load(program, "forward", NULL, &method, &error) != BELAY_OK) {
 *     fprintf(stderr, "%s\n", belay_error_message(error));
 *   }
 *
 * Program files are untrusted. For any contents, a function returns a status and only accesses its
 * own memory. Violating a function's contract (a freed handle, a buffer that is too small) is
 * undefined behavior.
 *
 * ABI. Handles are opaque. Structures begin with their size as compiled by the caller
 * (`struct_size`). Later versions append fields; callers compiled against an earlier version get
 * their defaults. Enum values never change their meaning. Functions do not throw, and there is no
 * global state: several users in one process are independent.
 *
 * Errors. Every function that can fail returns a belay_status and has a parameter `error`. If it is
 * not NULL, a failure stores a belay_error in it, which the caller frees. A failure changes nothing
 * else.
 *
 * Threads. A program is thread-safe. A method, its log and its error are used by one thread at a
 * time.
 */
#ifndef BELAY_BINDINGS_C_BELAY_H_
#define BELAY_BINDINGS_C_BELAY_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BELAY_API __attribute__((visibility("default")))
#else
#define BELAY_API
#endif

/* In C++, too, arguments of enumerated types may be any int; functions reject unknown values. */
#ifdef __cplusplus
#define BELAY_ANY_INT : int
#else
#define BELAY_ANY_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ABI version of this header. A library supports callers compiled against its own version and
 * smaller ones. */
#define BELAY_ABI_VERSION 7

/* ABI version of the library. */
BELAY_API uint32_t belay_abi_version(void);

/* ---- Errors ---- */

/* The values of absl::StatusCode. */
typedef enum belay_status BELAY_ANY_INT {
  BELAY_OK = 0,
  BELAY_CANCELLED = 1,
  BELAY_UNKNOWN = 2,
  BELAY_INVALID_ARGUMENT = 3, /* wrong input, or a file that violates a rule */
  BELAY_DEADLINE_EXCEEDED = 4,
  BELAY_NOT_FOUND = 5,
  BELAY_ALREADY_EXISTS = 6,
  BELAY_PERMISSION_DENIED = 7,
  BELAY_RESOURCE_EXHAUSTED = 8, /* memory, or a limit */
  BELAY_FAILED_PRECONDITION = 9,
  BELAY_ABORTED = 10,
  BELAY_OUT_OF_RANGE = 11,
  BELAY_UNIMPLEMENTED = 12, /* a newer file, or an unsupported feature */
  BELAY_INTERNAL = 13,      /* a bug in Belay */
  BELAY_UNAVAILABLE = 14,
  BELAY_DATA_LOSS = 15, /* not a program file, truncated or damaged */
  BELAY_UNAUTHENTICATED = 16
} belay_status;

/* "INVALID_ARGUMENT"; "" for an unknown value. A static string. */
BELAY_API const char* belay_status_name(belay_status status);

typedef struct belay_error belay_error;
/* UTF-8; valid as long as the error. "" for NULL. */
BELAY_API const char* belay_error_message(const belay_error* error);
BELAY_API belay_status belay_error_status(const belay_error* error); /* BELAY_OK for NULL */
/* If lowering refused nodes: those that the message names, as a JSON list of objects with the strings
 * "method", "node", "operator", "source" and "reason"; unknown ones are "". Otherwise "[]". The
 * message has at most 100 lines. Valid as long as the error. Since version 2. */
BELAY_API const char* belay_error_nodes(const belay_error* error);
BELAY_API void belay_error_free(belay_error* error); /* NULL: no-op */

/* ---- Bytes (since version 2) ---- */

/* Bytes that a function returns; the caller frees them. A zero byte follows the last one, so that
 * text can be used as a string. */
typedef struct belay_bytes belay_bytes;
BELAY_API const void* belay_bytes_data(const belay_bytes* bytes); /* NULL for NULL */
BELAY_API size_t belay_bytes_size(const belay_bytes* bytes);      /* 0 for NULL */
BELAY_API void belay_bytes_free(belay_bytes* bytes);              /* NULL: no-op */

/* ---- Tensors ---- */

/* The values of program files (runtime/schema/program.proto). */
typedef enum belay_dtype BELAY_ANY_INT {
  BELAY_UINT8 = 1,
  BELAY_INT8 = 2,
  BELAY_INT16 = 3,
  BELAY_INT32 = 4,
  BELAY_INT64 = 5,
  BELAY_FLOAT16 = 6,
  BELAY_FLOAT32 = 7,
  BELAY_FLOAT64 = 8,
  BELAY_COMPLEX32 = 9,
  BELAY_COMPLEX64 = 10,
  BELAY_COMPLEX128 = 11,
  BELAY_BOOL = 12, /* one byte per element */
  BELAY_BFLOAT16 = 13,
  BELAY_UINT16 = 14,
  BELAY_UINT32 = 15,
  BELAY_UINT64 = 16,
  BELAY_FLOAT8_E4M3FN = 17,
  BELAY_FLOAT8_E5M2 = 18,
  BELAY_FLOAT8_E4M3FNUZ = 19,
  BELAY_FLOAT8_E5M2FNUZ = 20,
  BELAY_FLOAT8_E8M0FNU = 21
} belay_dtype;

/* Bytes per element; 0 for an unknown dtype. */
BELAY_API size_t belay_dtype_size(belay_dtype dtype);

#define BELAY_MAX_RANK 16

/* A non-owning view of a tensor. A plain value. */
typedef struct belay_tensor {
  belay_dtype dtype;
  int32_t rank; /* 0 to BELAY_MAX_RANK */
  int64_t sizes[BELAY_MAX_RANK];
  int64_t strides[BELAY_MAX_RANK]; /* in elements, not negative */
  void* data;                      /* the element with all indices 0 */
} belay_tensor;

/* A contiguous tensor over `data`; dtype, rank and sizes are checked when it is used. */
BELAY_API belay_tensor belay_tensor_contiguous(belay_dtype dtype, int32_t rank,
                                               const int64_t* sizes, void* data);

/* Copies the elements of a tensor to one of the same dtype and sizes, whose memory does not overlap.
 * Since version 2. INVALID_ARGUMENT: dtype, sizes or description of a tensor. */
BELAY_API belay_status belay_tensor_copy(const belay_tensor* from, const belay_tensor* to,
                                         belay_error** error);

/* ---- Programs ---- */

typedef struct belay_program belay_program;

typedef struct belay_open_options {
  size_t struct_size; /* sizeof(belay_open_options) */
  /* 1: copies the file, in case other processes change or truncate it while in use. 0: maps it. */
  int32_t copy;
  /* Directory of companion files; NULL: that of the file. */
  const char* companion_root;
  /* Files with tensors by name: parameter files, which replace parameters of a program, or data files
   * (.ptd) of an ExecuTorch program. A name that two files have is INVALID_ARGUMENT. */
  const char* const* data_files;
  size_t num_data_files;
  /* Limits (docs/hardening.md, section 5); 0: the default, which is proportional to the file. */
  uint64_t limit_file_bytes;
  uint64_t limit_arena_bytes;  /* each for a method's tensors, scratch memory, delegates */
  uint64_t limit_instructions; /* per execution */
  uint64_t limit_work;         /* per execution, in multiply-adds */
  /* Folder with ExecuTorch programs whose XNNPACK delegates are compiled; NULL: none. If it has an
   * entry of the program, that is opened; damaged entries and those of other content are ignored.
   * belay_program_open_compiled (belay_compiler.h) adds entries. Users that can write to the
   * folder can replace programs. NOT_FOUND: not a folder. Since version 6. */
  const char* weight_cache;
} belay_open_options;

/* Maps the file (.belay, or ExecuTorch's .pte) and validates all of it. NULL options: the defaults.
 *   NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE  the file can't be read
 *   DATA_LOSS           not a program file, truncated, or damaged
 *   UNIMPLEMENTED       a newer format, or an unknown feature
 *   INVALID_ARGUMENT    the file violates a rule; invalid options
 *   RESOURCE_EXHAUSTED  a limit */
BELAY_API belay_status belay_program_open(const char* path, const belay_open_options* options,
                                          belay_program** program, belay_error** error);
/* As belay_program_open, from memory that must stay unchanged until the program is freed. `copy`,
 * `data_files` and `weight_cache` must not be set. */
BELAY_API belay_status belay_program_open_bytes(const void* bytes, size_t size,
                                                const belay_open_options* options,
                                                belay_program** program, belay_error** error);
/* Free all its methods first. NULL: no-op. */
BELAY_API void belay_program_free(belay_program* program);

BELAY_API size_t belay_program_num_methods(const belay_program* program);
/* Valid as long as the program; NULL if `i` is out of range. */
BELAY_API const char* belay_program_method_name(const belay_program* program, size_t i);

/* A bank: a part of the memory for a method's activations. Since version 4. */
typedef struct belay_bank_info {
  size_t struct_size; /* set by the caller to sizeof(belay_bank_info) */
  const char* name;   /* "" for the only bank of a program without banks; as long as the program */
  uint64_t bytes;     /* that the method needs */
  uint64_t alignment; /* of the bank's address; a power of two, at least 64 */
} belay_bank_info;

/* The number of banks, at least 1; 0 for an unknown method. Since version 4. */
BELAY_API size_t belay_program_num_banks(const belay_program* program, const char* method);
/* Describes bank `i` of a method. Since version 4.
 *   NOT_FOUND     unknown method
 *   OUT_OF_RANGE  `i` */
BELAY_API belay_status belay_program_bank(const belay_program* program, const char* method,
                                          size_t i, belay_bank_info* info, belay_error** error);

/* ---- Memory of the caller ---- */

/* Source of memory. A plain value; functions and `context` must outlive what uses them, and are
 * called by the threads that load, execute and free it. Since version 5. */
typedef struct belay_allocator {
  void* context; /* passed to the functions */
  /* Returns `bytes` > 0 bytes at a multiple of `alignment`, a power of two; NULL: no memory. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  /* `block` is a result of `allocate` for as many bytes. */
  void (*free)(void* context, void* block, size_t bytes);
} belay_allocator;

/* ---- State (since version 2) ---- */

/* Buffers that persist between executions, shared by methods of a program, such as the cache of a
 * prefill and a decode method. Used by one thread at a time, with all its methods. */
typedef struct belay_state belay_state;

/* Creates the state of these methods, with its initial content. `num_methods` 0: of all methods. The
 * program must outlive it.
 *   NOT_FOUND           unknown method
 *   INVALID_ARGUMENT    methods have different buffers of one name (names them)
 *   RESOURCE_EXHAUSTED  memory, or a limit */
BELAY_API belay_status belay_state_create(const belay_program* program, const char* const* methods,
                                          size_t num_methods, belay_state** state,
                                          belay_error** error);
/* The same, with memory of `allocator`, which is copied; NULL: the C library's. Since version 5.
 *   INVALID_ARGUMENT    also: a function of the allocator is NULL, or its block is misaligned */
BELAY_API belay_status belay_state_create_with_allocator(const belay_program* program,
                                                         const char* const* methods,
                                                         size_t num_methods,
                                                         const belay_allocator* allocator,
                                                         belay_state** state, belay_error** error);
/* Free the methods that use it first. NULL: no-op. */
BELAY_API void belay_state_free(belay_state* state);
BELAY_API size_t belay_state_num_buffers(const belay_state* state);
/* Sorted. Valid as long as the state; NULL if `i` is out of range. */
BELAY_API const char* belay_state_buffer_name(const belay_state* state, size_t i);
/* Returns a view, valid as long as the state. The next execution sees writes to it. NOT_FOUND. */
BELAY_API belay_status belay_state_get(const belay_state* state, const char* name,
                                       belay_tensor* tensor, belay_error** error);
/* Resets all buffers to their initial content. */
BELAY_API void belay_state_reset(belay_state* state);
/* Copies the content of all buffers, for belay_state_restore with the same program. */
BELAY_API belay_status belay_state_save(const belay_state* state, belay_bytes** bytes,
                                        belay_error** error);
/* INVALID_ARGUMENT: the size differs from that of belay_state_save. */
BELAY_API belay_status belay_state_restore(belay_state* state, const void* bytes, size_t size,
                                           belay_error** error);

/* ---- Events ---- */

/* Bounded event log. Events that do not fit are dropped and counted. */
typedef struct belay_event_log belay_event_log;

typedef enum belay_event_kind BELAY_ANY_INT {
  BELAY_EVENT_LOAD = 0,
  BELAY_EVENT_RESOLVE = 1,
  BELAY_EVENT_ALLOCATE = 2,
  BELAY_EVENT_INIT = 3,
  BELAY_EVENT_EXECUTE = 4,
  BELAY_EVENT_INSTRUCTION = 5,
  BELAY_EVENT_DELEGATE_CALL = 6,
  BELAY_EVENT_STEP = 7 /* of a delegate */
} belay_event_kind;

typedef struct belay_event {
  belay_event_kind kind;
  int32_t depth; /* the enclosing events are the last earlier ones of each smaller depth */
  int64_t begin_ns, end_ns; /* of a monotonic clock */
  int64_t id;               /* of the instruction, delegate, or step */
  const char* name;         /* of a named step, else NULL; valid as long as the log */
} belay_event;

/* Allocates room for `capacity` events. RESOURCE_EXHAUSTED: out of memory. */
BELAY_API belay_status belay_event_log_create(size_t capacity, belay_event_log** log,
                                              belay_error** error);
/* Free the methods that write to it first. NULL: no-op. */
BELAY_API void belay_event_log_free(belay_event_log* log);
BELAY_API size_t belay_event_log_size(const belay_event_log* log);
BELAY_API uint64_t belay_event_log_dropped(const belay_event_log* log);
/* Event `i` in the order of their begin. OUT_OF_RANGE: `i`. */
BELAY_API belay_status belay_event_log_get(const belay_event_log* log, size_t i,
                                           belay_event* event);
BELAY_API void belay_event_log_clear(belay_event_log* log);

/* ---- Methods ---- */

typedef struct belay_method belay_method;

typedef enum belay_kind BELAY_ANY_INT {
  BELAY_KIND_NONE = 0,
  BELAY_KIND_TENSOR = 1,
  BELAY_KIND_INT = 2,
  BELAY_KIND_DOUBLE = 3,
  BELAY_KIND_BOOL = 4,
  BELAY_KIND_OTHER = 5, /* a constant of the program: need not be set, or can't be read here */
  BELAY_KIND_STRING = 6 /* a constant among the outputs (belay_method_get_string), or an option */
} belay_kind;

/* An option of a backend; `belay backends` lists them. A plain value. Since version 3. */
typedef struct belay_backend_option {
  const char* backend; /* the id in program files: "cpu", "XnnpackBackend" */
  const char* name;
  belay_kind kind;          /* BELAY_KIND_BOOL, BELAY_KIND_INT or BELAY_KIND_STRING */
  int32_t bool_value;       /* BELAY_KIND_BOOL */
  int64_t int_value;        /* BELAY_KIND_INT */
  const char* string_value; /* BELAY_KIND_STRING */
} belay_backend_option;

/* Memory of the caller for a bank of a method. A plain value. Since version 4. */
typedef struct belay_bank_memory {
  const char* name; /* belay_bank_info.name */
  void* data;       /* a multiple of the bank's alignment */
  size_t size;      /* at least the bank's bytes */
} belay_bank_memory;

typedef struct belay_method_options {
  size_t struct_size; /* sizeof(belay_method_options) */
  /* Threads that work on each instruction, including the caller's; 0 and 1: only the caller's. At
   * most 256. Results do not depend on it. */
  int32_t num_threads;
  /* Log for loading and executing; NULL: none. */
  belay_event_log* log;
  /* Holds the method's state, and must outlive it; NULL: the method has its own. Since version 2. */
  belay_state* state;
  /* Options of backends, each at most once. Those of backends that the method does not use are
   * checked and have no effect. Copied. Since version 3. */
  const belay_backend_option* backend_options;
  size_t num_backend_options;
  /* Memory for banks, each at most once; the library allocates the other banks. Loading fills the
   * used bytes with zeros. The memory must outlive the method and have no other use. Exception:
   * methods of program files (.belay) that execute one at a time may share it; the outputs of one
   * are valid until another one executes. Since version 4. */
  const belay_bank_memory* banks;
  size_t num_banks;
  /* Source of the method's other memory: banks, state, copies of inputs and constants, working memory
   * of kernels and delegates, weights that backends pack. Copied. NULL: the C library's, which tables
   * of the program and of XNNPACK always use. Since version 5. */
  const belay_allocator* allocator;
} belay_method_options;

/* Resolves kernels and backends, allocates all memory and initializes the state. Executing
 * allocates nothing. The program must outlive the method. NULL options: the defaults.
 *   NOT_FOUND           unknown method; missing operators or backends (all are listed)
 *   RESOURCE_EXHAUSTED  memory, or a limit
 *   INVALID_ARGUMENT    invalid options; a backend's error about its delegate; memory for a bank that
 *                       is unknown or repeated, too small, misaligned, or overlaps that of another;
 *                       a misaligned block of the allocator */
BELAY_API belay_status belay_method_load(const belay_program* program, const char* name,
                                         const belay_method_options* options, belay_method** method,
                                         belay_error** error);
/* NULL: no-op. */
BELAY_API void belay_method_free(belay_method* method);

/* Changes an option of a backend for the next execution. Since version 3.
 *   INVALID_ARGUMENT     the method has no delegate of the backend; an unknown option (the known
 *                        ones are listed); a value of another type, or out of range
 *   FAILED_PRECONDITION  the option can only be set in belay_method_options */
BELAY_API belay_status belay_method_set_backend_option(belay_method* method,
                                                       const belay_backend_option* option,
                                                       belay_error** error);
/* Returns the current value of the option with this `backend` and `name`: sets `kind` and the
 * value. A string is valid until the option is set and read again, and as long as the method. Since
 * version 3.
 *   INVALID_ARGUMENT  as belay_method_set_backend_option */
BELAY_API belay_status belay_method_get_backend_option(belay_method* method,
                                                       belay_backend_option* option,
                                                       belay_error** error);

BELAY_API size_t belay_method_num_inputs(const belay_method* method);
BELAY_API size_t belay_method_num_outputs(const belay_method* method);

typedef struct belay_input_info {
  const char* name; /* valid as long as the program */
  belay_kind kind;
  /* For tensors: `data` is NULL, sizes are the maximum. */
  belay_tensor tensor;
  /* Bit d: size d is dynamic, down to min_sizes[d]. */
  uint32_t dynamic_dims;
  int64_t min_sizes[BELAY_MAX_RANK];
} belay_input_info;

/* OUT_OF_RANGE: `i`. */
BELAY_API belay_status belay_method_input_info(const belay_method* method, size_t i,
                                               belay_input_info* info, belay_error** error);

/* 1 if executing the method writes to the memory of input i, else 0. Since version 2. */
BELAY_API int32_t belay_method_input_is_mutated(const belay_method* method, size_t i);

/* Information on an output before execution. Since version 2. */
typedef struct belay_output_info {
  size_t struct_size; /* set by the caller to sizeof(belay_output_info) */
  /* The keys and indices that lead to the output in the value that the model returns, joined by
   * '.': "logits", "1", "cache.0"; "output" for a single tensor. Valid as long as the method. */
  const char* name;
  belay_kind kind; /* BELAY_KIND_NONE: None; BELAY_KIND_OTHER: can't be read here */
  /* For tensors: `data` is NULL, sizes are the maximum. */
  belay_tensor tensor;
  uint32_t dynamic_dims; /* bit d: size d is dynamic */
  uint64_t max_bytes;    /* of a tensor at its maximum size */
} belay_output_info;

/* OUT_OF_RANGE: `i`. */
BELAY_API belay_status belay_method_output_info(const belay_method* method, size_t i,
                                                belay_output_info* info, belay_error** error);

/* The structure of the model's arguments and results, as PyTorch writes it (a JSON string); "" if
 * the file has none. Untrusted. Valid as long as the program. Since version 2. */
BELAY_API const char* belay_method_in_spec(const belay_method* method);
BELAY_API const char* belay_method_out_spec(const belay_method* method);

/* Sets input i, which stays set until the next call. Executing the method reads the tensor's
 * memory, and writes to it if the program mutates the input. The memory must stay valid until then.
 *   OUT_OF_RANGE      i; a size beyond its bounds
 *   INVALID_ARGUMENT  kind, dtype, rank, size; names the input, expected and actual value */
BELAY_API belay_status belay_method_set_tensor(belay_method* method, size_t i,
                                               const belay_tensor* tensor, belay_error** error);
BELAY_API belay_status belay_method_set_int(belay_method* method, size_t i, int64_t value,
                                            belay_error** error);
BELAY_API belay_status belay_method_set_double(belay_method* method, size_t i, double value,
                                               belay_error** error);
BELAY_API belay_status belay_method_set_bool(belay_method* method, size_t i, int32_t value,
                                             belay_error** error);

/* Stops executions from another thread. */
typedef struct belay_cancellation belay_cancellation;
/* NULL: out of memory. */
BELAY_API belay_cancellation* belay_cancellation_create(void);
BELAY_API void belay_cancellation_free(belay_cancellation* cancellation);
/* Stops running and later executions with this cancellation. Thread-safe and idempotent. */
BELAY_API void belay_cancellation_cancel(belay_cancellation* cancellation);
BELAY_API void belay_cancellation_reset(belay_cancellation* cancellation);

typedef struct belay_execute_options {
  size_t struct_size; /* sizeof(belay_execute_options) */
  /* Nanoseconds after which no instruction starts and long ones stop; 0: no timeout. */
  uint64_t timeout_ns;
  const belay_cancellation* cancellation; /* NULL: none */
  uint64_t limit_instructions;            /* 0: that of the program */
  uint64_t limit_work;                    /* 0: that of the program */
} belay_execute_options;

/* Executes the method. NULL options: the defaults. After an error, outputs are undefined, state is
 * as left by the instructions before the failing one, and the method may be executed again.
 *   FAILED_PRECONDITION  inputs that were never set (all are named)
 *   INVALID_ARGUMENT     inconsistent sizes of inputs
 *   RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED  as set in the options
 *   errors of kernels and delegates, with the instruction, the operator and the source line */
BELAY_API belay_status belay_method_execute(belay_method* method,
                                            const belay_execute_options* options,
                                            belay_error** error);

/* An input or output of belay_method_call. A plain value. */
typedef struct belay_value {
  belay_kind kind;
  int32_t bool_value;  /* BELAY_KIND_BOOL */
  int64_t int_value;   /* BELAY_KIND_INT */
  double double_value; /* BELAY_KIND_DOUBLE */
  belay_tensor tensor; /* BELAY_KIND_TENSOR */
} belay_value;

/* Sets all inputs, executes the method and returns all outputs. Allocates nothing. Since version 2.
 *
 * An input of kind BELAY_KIND_NONE keeps its value: for constants of the program. The others are as
 * for belay_method_set_tensor and so on; the memory of tensors must stay valid until the next
 * inputs are set.
 *
 * If an output has kind BELAY_KIND_TENSOR and `tensor.data`, that memory receives the elements. It
 * must have room for the output's `max_bytes`, be aligned for its elements, and overlap neither an
 * input nor the state nor another output. If the output's sizes are static, it is mostly computed
 * there, otherwise copied. Any other output tensor is a view, valid until the next execution or the
 * next set input. Afterwards, kind and value of each output are set; strides are those of the
 * elements in memory, without gaps for memory of the caller. After an error, outputs are undefined.
 *   INVALID_ARGUMENT  the number of inputs or outputs
 *   errors of belay_method_set_tensor and belay_method_execute */
BELAY_API belay_status belay_method_call(belay_method* method, const belay_value* inputs,
                                         size_t num_inputs, belay_value* outputs,
                                         size_t num_outputs, const belay_execute_options* options,
                                         belay_error** error);

/* Outputs of the last execution, which must have succeeded.
 *   OUT_OF_RANGE         `i`
 *   FAILED_PRECONDITION  the last execution failed, or the method was never executed
 *   INVALID_ARGUMENT     the output has another kind */
BELAY_API belay_status belay_method_output_kind(const belay_method* method, size_t i,
                                                belay_kind* kind, belay_error** error);
/* Returns a view, valid until the next execution or the next set input. */
BELAY_API belay_status belay_method_get_tensor(const belay_method* method, size_t i,
                                               belay_tensor* tensor, belay_error** error);
BELAY_API belay_status belay_method_get_int(const belay_method* method, size_t i, int64_t* value,
                                            belay_error** error);
BELAY_API belay_status belay_method_get_double(const belay_method* method, size_t i, double* value,
                                               belay_error** error);
BELAY_API belay_status belay_method_get_bool(const belay_method* method, size_t i, int32_t* value,
                                             belay_error** error);
/* Returns `size` bytes, valid as long as the method, without a terminating NUL: UTF-8, unless the
 * file is damaged. Since version 2. */
BELAY_API belay_status belay_method_get_string(const belay_method* method, size_t i,
                                               const char** data, size_t* size,
                                               belay_error** error);

/* State: buffers that persist between executions. */
BELAY_API size_t belay_method_num_states(const belay_method* method);
/* Valid as long as the program; NULL if `i` is out of range. */
BELAY_API const char* belay_method_state_name(const belay_method* method, size_t i);
/* Returns a view into the method's memory, valid as long as the method. The next execution sees
 * writes to it. NOT_FOUND. */
BELAY_API belay_status belay_method_get_state(const belay_method* method, const char* name,
                                              belay_tensor* tensor, belay_error** error);
/* Resets all state to its initial content. */
BELAY_API void belay_method_reset_state(belay_method* method);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BELAY_BINDINGS_C_BELAY_H_ */
