// Ctrl-C and kill as a wish to stop, not an end.
#pragma once

namespace headrace::tool {

// From now on the first SIGINT or SIGTERM is remembered; a second one ends the program at once.
void WatchForStop();
// The signal that came, 0 for none.
int StopSignal();

}  // namespace headrace::tool
