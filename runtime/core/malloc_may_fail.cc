// Linked into tests of what happens when there is no memory: without it asan ends the process where
// malloc returns null.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
