// What the process knows about where it runs.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/base/result.h"

namespace hr {

// The machine's name, without characters that cannot stand in a file's name; "localhost" if it
// has none.
std::string HostName();

// Of this run of the machine's kernel; empty if the system does not tell.
Result<std::string> BootId();

// Bits that nobody else has: for names, not for secrets.
uint64_t UniqueBits();

// The processors that this process may run on, a bit each; those beyond 1,024 are left out.
using ProcessorSet = std::array<uint64_t, 16>;
ProcessorSet AvailableProcessorSet();
int CountProcessors(const ProcessorSet& set);
inline int AvailableProcessors() { return CountProcessors(AvailableProcessorSet()); }

// Whether people see what is written to `file` as it is written.
bool IsTerminal(std::FILE* file);

// The width of that terminal in columns; 80 if it cannot tell.
int TerminalWidth(std::FILE* file);

}  // namespace hr
