#pragma once

namespace omnirt::io {

// Releases the pages of this program's libraries that were read while they were loaded and set up:
// relocation tables, symbol names and static constructors, for libtorch some 40 MB that are hardly
// touched again. They are clean pages of mapped files; what is needed again is found in the page
// cache. For programs whose memory counts, once, early in main.
void give_back_startup_pages();

}  // namespace omnirt::io
