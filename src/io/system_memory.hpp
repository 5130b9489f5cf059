#pragma once

namespace omnirt::io {

// Memory that the machine could give to this process without swapping, in GiB, as the kernel
// estimates it (MemAvailable); a huge number where the kernel does not say.
double available_memory_gb();

}  // namespace omnirt::io
