// Ctrl-C and SIGTERM as a request to stop after the present step.
#pragma once

namespace headrace::tool {

// From now on the first SIGINT or SIGTERM is noted; a second one ends the program at once.
void WatchForStop();
// Returns the signal that has come; 0 if none has.
int StopSignal();

}  // namespace headrace::tool
