// "Did you mean …?"
#ifndef BELAY_TOOLS_BELAY_NEAREST_NAME_H_
#define BELAY_TOOLS_BELAY_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace belay::tools {

// The name that is probably meant by `wrong`: the first of those with the fewest characters inserted,
// deleted, replaced or swapped with the next one, where these are at most a third of the longer one's.
// "" when there is none. O(names × length²); of names beyond 100 bytes only equal ones count.
std::string NearestName(std::string_view wrong, const std::vector<std::string>& names);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_NEAREST_NAME_H_
