// Non-fatal findings about an imported archive. Source: docs/pt2-format.md §4, §10, §14 item 22.
#ifndef BELAY_EXIR_IMPORT_IMPORT_NOTES_H_
#define BELAY_EXIR_IMPORT_IMPORT_NOTES_H_

#include <string>
#include <vector>

#include "exir/import/note_names.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns at most one note for each of: tensors with elements but without bytes in the archive
// (`zero_filled`); values on devices other than the CPU; symbols with a range that occur in no
// value's type. Each note is a line of a few hundred bytes for a terminal. Time is linear in the
// program.
std::vector<std::string> ImportNotes(const ExportedProgram& program, const NoteNames& zero_filled);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_IMPORT_NOTES_H_
