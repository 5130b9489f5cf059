#pragma once
#include <filesystem>
#include <functional>

namespace omnirt::io {

// The files and folders that this process has made under temporary names, and has not yet renamed
// or removed: a process that has to end at once takes them with it.

// Calls `make`, which makes one and returns its path (or throws), and keeps a record of it.
std::filesystem::path keep_temporary(const std::function<std::filesystem::path()>& make);

// Its owner has renamed or removed it.
void forget_temporary(const std::filesystem::path& path) noexcept;

// Removes what is there under a temporary name and ends the process, without destructors: other
// threads may be in the middle of anything. None of them makes a temporary any more.
[[noreturn]] void quit_without_temporaries(int exit_code) noexcept;

}  // namespace omnirt::io
