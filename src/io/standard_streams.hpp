#pragma once

namespace omnirt::io {

// For programs, first of all. A process may be started with standard input, output or error closed;
// the next file that it opens would take the number, and what is printed would go into that file.
// Each closed stream gets a descriptor on which reads and writes fail, as they do on a closed one.
void hold_standard_streams();

}  // namespace omnirt::io
