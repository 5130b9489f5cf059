#pragma once
#include <string>
#include <string_view>

namespace omnirt::serve {

// Names that requests, Redis and SQLite bring and that become names of files here.

// 32 lowercase hexadecimal digits, as random_id() makes them.
bool is_job_id(std::string_view text);
// The name of a file within a job's folder: 1 to 255 bytes, no leading dot, and neither slashes,
// backslashes, quotes nor control characters.
bool is_file_name(std::string_view text);

// A name from outside for a log line or an error: its first 100 bytes, as a terminal may show them.
std::string shown_name(std::string_view text);

}  // namespace omnirt::serve
