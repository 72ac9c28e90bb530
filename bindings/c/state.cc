#include <cstring>
#include <new>

#include "absl/types/span.h"
#include "bindings/c/handles.h"
#include "runtime/core/status_macros.h"

namespace belay::c {
namespace {

absl::StatusOr<std::unique_ptr<belay_state>> CreateState(const belay_program* program,
                                                         const char* const* methods,
                                                         size_t num_methods,
                                                         const belay_allocator* allocator) {
  if (program == nullptr) return Missing("a program");
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        Strings(methods, num_methods, "methods"));
  std::unique_ptr<belay_state> created(new (std::nothrow) belay_state);
  if (created == nullptr) return NoMemory("a state");
  if (allocator != nullptr) {
    ABSL_ASSIGN_OR_RETURN(created->allocator, CallerAllocator::Create(*allocator));
  }
  ABSL_ASSIGN_OR_RETURN(created->state,
                        SharedState::Create(*program->program, names,
                                            allocator == nullptr ? nullptr : &*created->allocator));
  created->names = created->state->names();
  return created;
}

absl::StatusOr<std::unique_ptr<belay_bytes>> Save(const belay_state* state) {
  if (state == nullptr) return Missing("a state");
  std::unique_ptr<belay_bytes> saved(new (std::nothrow) belay_bytes);
  if (saved == nullptr) return NoMemory("the saved state");
  saved->bytes = state->state->Save();
  return saved;
}

absl::Status Restore(belay_state* state, const void* bytes, size_t size) {
  if (state == nullptr) return Missing("a state");
  if (bytes == nullptr && size > 0) return Missing("bytes");
  return state->state->Restore(std::string_view(static_cast<const char*>(bytes), size));
}

}  // namespace

absl::StatusOr<CallerAllocator> CallerAllocator::Create(const belay_allocator& functions) {
  if (functions.allocate == nullptr) return Missing("allocator.allocate");
  if (functions.free == nullptr) return Missing("allocator.free");
  return CallerAllocator(functions);
}

}  // namespace belay::c

belay_status belay_state_create(const belay_program* program, const char* const* methods,
                                size_t num_methods, belay_state** state, belay_error** error) {
  return belay_state_create_with_allocator(program, methods, num_methods, nullptr, state, error);
}

belay_status belay_state_create_with_allocator(const belay_program* program,
                                               const char* const* methods, size_t num_methods,
                                               const belay_allocator* allocator,
                                               belay_state** state, belay_error** error) {
  if (state == nullptr) {
    return belay::c::Report(belay::c::Missing("an output pointer for the state"), error);
  }
  return belay::c::Give(belay::c::CreateState(program, methods, num_methods, allocator), state,
                        error);
}

void belay_state_free(belay_state* state) { delete state; }

size_t belay_state_num_buffers(const belay_state* state) {
  return state == nullptr ? 0 : state->names.size();
}

const char* belay_state_buffer_name(const belay_state* state, size_t i) {
  return i < belay_state_num_buffers(state) ? state->names[i].c_str() : nullptr;
}

belay_status belay_state_get(const belay_state* state, const char* name, belay_tensor* tensor,
                             belay_error** error) {
  if (state == nullptr) return belay::c::Report(belay::c::Missing("a state"), error);
  if (name == nullptr) return belay::c::Report(belay::c::Missing("the name of a buffer"), error);
  return belay::c::Put(state->state->Find(name), tensor, error, belay::c::TensorOf);
}

void belay_state_reset(belay_state* state) {
  if (state != nullptr) state->state->Reset();
}

belay_status belay_state_save(const belay_state* state, belay_bytes** bytes, belay_error** error) {
  if (bytes == nullptr) {
    return belay::c::Report(belay::c::Missing("an output pointer for the bytes"), error);
  }
  return belay::c::Give(belay::c::Save(state), bytes, error);
}

belay_status belay_state_restore(belay_state* state, const void* bytes, size_t size,
                                 belay_error** error) {
  return belay::c::Report(belay::c::Restore(state, bytes, size), error);
}
