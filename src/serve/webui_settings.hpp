#pragma once
#include <string_view>

#include "base/json.hpp"

namespace omnirt::serve {

// Whether an entry of webui's settings changes no image here: it is about saving, previews or the
// page, or has the value that webui itself begins with (modules/shared_options.py, and Forge's).
bool webui_setting_does_nothing(std::string_view name, const Json& value);

// Whether an entry of alwayson_scripts is switched off: it has no arguments, its first one is
// false (as of ADetailer, Refiner and most), or all its units are disabled (as of ControlNet).
bool webui_script_does_nothing(const Json& script);

}  // namespace omnirt::serve
