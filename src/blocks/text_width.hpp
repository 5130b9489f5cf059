#pragma once
#include "pipeline/checks.hpp"

namespace omnirt::blocks {

// A finding at `field`, a key of the text encoder's config ("text_encoder.hidden_size"), where the
// encoder makes another number of values a token than the transformer reads.
void check_text_width(Checks& checks, const char* field, int64_t made, int64_t read);

}  // namespace omnirt::blocks
