// Suggestions for misspelled names: "Did you mean …?"
#ifndef BELAY_TOOLS_BELAY_NEAREST_NAME_H_
#define BELAY_TOOLS_BELAY_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace belay::tools {

// Returns the first name at minimum edit distance from `wrong`, if that is at most a third of the
// longer name. Edits insert, delete or replace one character, or swap two adjacent ones. Returns ""
// otherwise. O(names × length²); names beyond 100 bytes only match exactly.
std::string NearestName(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_NEAREST_NAME_H_
