#include "blocks/text_width.hpp"

#include <fmt/format.h>

namespace omnirt::blocks {

void check_text_width(Checks& checks, const char* field, int64_t made, int64_t read) {
  if (made == read) return;
  checks.error({field, std::to_string(made),
                fmt::format("the transformer reads texts of {} values a token", read),
                "use the text encoder of the same model"});
}

}  // namespace omnirt::blocks
