#pragma once
#include <string>
#include <utility>

namespace omnirt::cli {

// The text of a flag, which the shell passes as any bytes; everything after this is UTF-8. Throws
// InvalidRequest under `field`.
const std::string& checked_text(const std::string& field, const std::string& text);

// "name=value" of the flag --`flag`; `example` is one. Throws InvalidRequest.
std::pair<std::string, std::string> pair_flag(const std::string& flag, const std::string& text,
                                              const std::string& example);

}  // namespace omnirt::cli
