#include "blocks/alpha_format.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace omnirt::blocks {

void check_format_has_alpha(Checks& checks, const Config<std::string>& output,
                            const Config<io::ImageFormat>& output_format,
                            const std::string& whose) {
  const std::string extension =
      std::filesystem::path(checks.maybe(output).value_or("")).extension();
  const bool named = extension == ".jpg" || extension == ".jpeg";
  if (!named && checks.maybe(output_format) != io::ImageFormat::jpeg) return;
  checks.error(
      {named ? "config.output" : "config.output_format", named ? *checks.maybe(output) : "jpeg",
       fmt::format("{} have an alpha channel, and JPEG has none", whose), "use png or webp"});
}

}  // namespace omnirt::blocks
