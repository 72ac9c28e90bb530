/* Runs program files from C, and from whatever can call C.
 *
 *   belay_error* error = NULL;
 *   belay_program* program = NULL;
 *   belay_method* method = NULL;
 *   if (belay_program_open("model.belay", NULL, &program, &error) != BELAY_OK ||
 *       belay_method_load(program, "forward", NULL, &method, &error) != BELAY_OK) {
 *     fprintf(stderr, "%s\n", belay_error_message(error));
 *   }
 *
 * Program files may come from anybody: whatever is in them, a function returns a status and touches
 * no memory that is not its own. A function that is given what its comment forbids (a handle that
 * was freed, a pointer to less memory than it says) can't be protected from that.
 *
 * ABI. Handles are opaque. Structures begin with their size as the caller knows it (`struct_size`);
 * later versions append fields, and whoever was compiled against an earlier one gets their defaults.
 * Numbers never change their meaning. Nothing throws, nothing is global: two users in one process
 * don't see each other.
 *
 * Errors. Every function that can fail returns a belay_status and takes an `error`: NULL, or where a
 * belay_error is put if it fails, which the caller frees. On failure nothing else was changed.
 *
 * Threads. A program may be used by many threads at a time; a method, its log and its error by one.
 */
#ifndef BELAY_RUNTIME_C_BELAY_H_
#define BELAY_RUNTIME_C_BELAY_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BELAY_API __attribute__((visibility("default")))
#else
#define BELAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library serves those compiled against its own number and smaller ones. */
#define BELAY_ABI_VERSION 1

/* That of the library. */
BELAY_API uint32_t belay_abi_version(void);

/* ---- Errors ---- */

/* The numbers of absl::StatusCode. */
typedef enum belay_status {
  BELAY_OK = 0,
  BELAY_CANCELLED = 1,
  BELAY_UNKNOWN = 2,
  BELAY_INVALID_ARGUMENT = 3, /* wrong input, or a file that breaks a rule */
  BELAY_DEADLINE_EXCEEDED = 4,
  BELAY_NOT_FOUND = 5,
  BELAY_ALREADY_EXISTS = 6,
  BELAY_PERMISSION_DENIED = 7,
  BELAY_RESOURCE_EXHAUSTED = 8, /* memory, or a limit */
  BELAY_FAILED_PRECONDITION = 9,
  BELAY_ABORTED = 10,
  BELAY_OUT_OF_RANGE = 11,
  BELAY_UNIMPLEMENTED = 12, /* a newer file, or what this library does not do */
  BELAY_INTERNAL = 13,      /* a mistake of Belay's */
  BELAY_UNAVAILABLE = 14,
  BELAY_DATA_LOSS = 15, /* no such file, truncated or damaged */
  BELAY_UNAUTHENTICATED = 16
} belay_status;

/* "INVALID_ARGUMENT"; "" for a number that is none. Lives for ever. */
BELAY_API const char* belay_status_name(belay_status status);

typedef struct belay_error belay_error;
/* UTF-8, as long as the error. "" for NULL. */
BELAY_API const char* belay_error_message(const belay_error* error);
BELAY_API belay_status belay_error_status(const belay_error* error); /* BELAY_OK for NULL */
BELAY_API void belay_error_free(belay_error* error);                 /* NULL: nothing */

/* ---- Tensors ---- */

/* The numbers of program files (runtime/schema/program.proto). */
typedef enum belay_dtype {
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
  BELAY_BOOL = 12, /* a byte each */
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

/* Bytes of an element; 0 for a number that is no dtype. */
BELAY_API size_t belay_dtype_size(belay_dtype dtype);

#define BELAY_MAX_RANK 16

/* A tensor in somebody's memory. A plain value. */
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

/* ---- Programs ---- */

typedef struct belay_program belay_program;

typedef struct belay_open_options {
  size_t struct_size; /* sizeof(belay_open_options) */
  /* 1: the file is copied, for those whom others can change or truncate meanwhile. 0: mapped. */
  int32_t copy;
  /* Where companion files are; NULL: beside the file. */
  const char* companion_root;
  /* Files of external tensors (.ptd), for programs of ExecuTorch. */
  const char* const* data_files;
  size_t num_data_files;
  /* Limits (docs/hardening.md, section 5); 0: the default, which is in proportion to the file. */
  uint64_t limit_file_bytes;
  uint64_t
      limit_arena_bytes; /* of a method's tensors; its kernels' working memory; its delegates */
  uint64_t limit_instructions; /* of one execution */
  uint64_t limit_work;         /* of one execution, in multiply-adds */
} belay_open_options;

/* Maps the file (.belay, or ExecuTorch's .pte) and checks everything. NULL options: the defaults.
 *   NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE  the file can't be read
 *   DATA_LOSS           no program file, truncated, or damaged
 *   UNIMPLEMENTED       a newer format, or a feature that is not known
 *   INVALID_ARGUMENT    the file breaks a rule; options are wrong
 *   RESOURCE_EXHAUSTED  a limit */
BELAY_API belay_status belay_program_open(const char* path, const belay_open_options* options,
                                          belay_program** program, belay_error** error);
/* The same from memory, which must stay as it is until the program is freed. `copy` and
 * `data_files` must not be given. */
BELAY_API belay_status belay_program_open_bytes(const void* bytes, size_t size,
                                                const belay_open_options* options,
                                                belay_program** program, belay_error** error);
/* After all its methods. NULL: nothing. */
BELAY_API void belay_program_free(belay_program* program);

BELAY_API size_t belay_program_num_methods(const belay_program* program);
/* As long as the program; NULL when there is no method of that number. */
BELAY_API const char* belay_program_method_name(const belay_program* program, size_t i);

/* ---- Events ---- */

/* What happened when. Bounded: what does not fit is counted. */
typedef struct belay_event_log belay_event_log;

typedef enum belay_event_kind {
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
  int32_t depth;            /* it is in the last event before it of each smaller depth */
  int64_t begin_ns, end_ns; /* of a clock that only goes forward */
  int64_t id;               /* of the instruction, delegate, or step */
  const char* name;         /* of a step that has one, else NULL; as long as the log */
} belay_event;

/* Room for so many events. RESOURCE_EXHAUSTED: no memory. */
BELAY_API belay_status belay_event_log_create(size_t capacity, belay_event_log** log,
                                              belay_error** error);
/* After the methods that write to it. NULL: nothing. */
BELAY_API void belay_event_log_free(belay_event_log* log);
BELAY_API size_t belay_event_log_size(const belay_event_log* log);
BELAY_API uint64_t belay_event_log_dropped(const belay_event_log* log);
/* Event `i`, in the order in which they began. OUT_OF_RANGE: there is none. */
BELAY_API belay_status belay_event_log_get(const belay_event_log* log, size_t i,
                                           belay_event* event);
BELAY_API void belay_event_log_clear(belay_event_log* log);

/* ---- Methods ---- */

typedef struct belay_method belay_method;

typedef struct belay_method_options {
  size_t struct_size; /* sizeof(belay_method_options) */
  /* Threads that work on each instruction, with the caller's; 0 and 1: the caller's alone; at most
   * 256. Results do not depend on it. */
  int32_t num_threads;
  /* Where loading and executing are logged; NULL: nowhere. */
  belay_event_log* log;
} belay_method_options;

/* Finds kernels and backends, allocates all memory and initializes the state; executing allocates
 * nothing. The program must outlive the method. NULL options: the defaults.
 *   NOT_FOUND           no such method; operators or backends that are missing, all of them
 *   RESOURCE_EXHAUSTED  memory, or a limit
 *   INVALID_ARGUMENT    options are wrong; what a backend says of its delegate */
BELAY_API belay_status belay_method_load(const belay_program* program, const char* name,
                                         const belay_method_options* options, belay_method** method,
                                         belay_error** error);
/* NULL: nothing. */
BELAY_API void belay_method_free(belay_method* method);

BELAY_API size_t belay_method_num_inputs(const belay_method* method);
BELAY_API size_t belay_method_num_outputs(const belay_method* method);

typedef enum belay_kind {
  BELAY_KIND_NONE = 0,
  BELAY_KIND_TENSOR = 1,
  BELAY_KIND_INT = 2,
  BELAY_KIND_DOUBLE = 3,
  BELAY_KIND_BOOL = 4,
  BELAY_KIND_OTHER =
      5 /* fixed when the program was made: needs not be set, or can't be read here */
} belay_kind;

typedef struct belay_input_info {
  const char* name; /* as long as the program */
  belay_kind kind;
  /* Of tensors: `data` is NULL, sizes are the largest. */
  belay_tensor tensor;
  /* Bit d: size d may be smaller, down to min_sizes[d]. */
  uint32_t dynamic_dims;
  int64_t min_sizes[BELAY_MAX_RANK];
} belay_input_info;

/* OUT_OF_RANGE: there is no such input. */
BELAY_API belay_status belay_method_input_info(const belay_method* method, size_t i,
                                               belay_input_info* info, belay_error** error);

/* Input i, which keeps what it is given until it is given another. The tensor's memory is read (and
 * written to, if the program says so) while the method executes, and must stay until then.
 *   OUT_OF_RANGE      i; a size beyond its bounds
 *   INVALID_ARGUMENT  kind, dtype, rank, size; names the input, what was expected and what came */
BELAY_API belay_status belay_method_set_tensor(belay_method* method, size_t i,
                                               const belay_tensor* tensor, belay_error** error);
BELAY_API belay_status belay_method_set_int(belay_method* method, size_t i, int64_t value,
                                            belay_error** error);
BELAY_API belay_status belay_method_set_double(belay_method* method, size_t i, double value,
                                               belay_error** error);
BELAY_API belay_status belay_method_set_bool(belay_method* method, size_t i, int32_t value,
                                             belay_error** error);

/* Ends an execution from another thread. */
typedef struct belay_cancellation belay_cancellation;
/* NULL: no memory. */
BELAY_API belay_cancellation* belay_cancellation_create(void);
BELAY_API void belay_cancellation_free(belay_cancellation* cancellation);
/* From any thread, any number of times: what executes with it ends, and what would begin. */
BELAY_API void belay_cancellation_cancel(belay_cancellation* cancellation);
BELAY_API void belay_cancellation_reset(belay_cancellation* cancellation);

typedef struct belay_execute_options {
  size_t struct_size; /* sizeof(belay_execute_options) */
  /* Nanoseconds after which no instruction begins and long ones end; 0: no such time. */
  uint64_t timeout_ns;
  const belay_cancellation* cancellation; /* NULL: none */
  uint64_t limit_instructions;            /* 0: that of the program */
  uint64_t limit_work;                    /* 0: that of the program */
} belay_execute_options;

/* Executes. NULL options: the defaults. After an error outputs are undefined, state is as the
 * instructions before the failing one left it, and the method may be executed again.
 *   FAILED_PRECONDITION  some input was never set; all are named
 *   INVALID_ARGUMENT     sizes of inputs that don't fit together
 *   RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED  as the options say
 *   what a kernel or delegate says, with the instruction, the operator and the source line */
BELAY_API belay_status belay_method_execute(belay_method* method,
                                            const belay_execute_options* options,
                                            belay_error** error);

/* Outputs of the last execution, which must have succeeded.
 *   OUT_OF_RANGE         there is no such output
 *   FAILED_PRECONDITION  the last execution failed, or there was none
 *   INVALID_ARGUMENT     it is of another kind */
BELAY_API belay_status belay_method_output_kind(const belay_method* method, size_t i,
                                                belay_kind* kind, belay_error** error);
/* A view: valid until the method is executed or an input is set again. */
BELAY_API belay_status belay_method_get_tensor(const belay_method* method, size_t i,
                                               belay_tensor* tensor, belay_error** error);
BELAY_API belay_status belay_method_get_int(const belay_method* method, size_t i, int64_t* value,
                                            belay_error** error);
BELAY_API belay_status belay_method_get_double(const belay_method* method, size_t i, double* value,
                                               belay_error** error);
BELAY_API belay_status belay_method_get_bool(const belay_method* method, size_t i, int32_t* value,
                                             belay_error** error);

/* State: buffers that an execution leaves for the next one. */
BELAY_API size_t belay_method_num_states(const belay_method* method);
/* As long as the program; NULL when there is no state of that number. */
BELAY_API const char* belay_method_state_name(const belay_method* method, size_t i);
/* A view into the method's memory, as long as the method. What is written to it, the next execution
 * reads. NOT_FOUND. */
BELAY_API belay_status belay_method_get_state(const belay_method* method, const char* name,
                                              belay_tensor* tensor, belay_error** error);
/* Gives all state its initial content. */
BELAY_API void belay_method_reset_state(belay_method* method);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BELAY_RUNTIME_C_BELAY_H_ */
