#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace omnirt::serve {

// One server-sent event. Line ends in `data` make further data lines, which a client joins again;
// nothing in it begins another field.
std::string event_piece(int64_t number, std::string type, std::string_view data);

}  // namespace omnirt::serve
