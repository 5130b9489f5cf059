#include "serve/job_work.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <vector>

namespace omnirt::serve {
namespace {

// The text comes back from a store or a broker, and is calculated with.
constexpr int64_t most_of_any = 1'000'000'000;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace

int64_t settled_number(const ConfigValues& config, const char* name, int64_t otherwise) {
  const ConfigValue* found = config.find(name);
  return found && found->value.is_number_integer() ? found->value.get<int64_t>() : otherwise;
}

JobWork JobWork::of(const SettledReport& settled) {
  const ConfigValues& config = settled.config_resolved;
  JobWork work;
  work.model = settled.model.substr(0, 512);
  work.task = settled.task.substr(0, 64);
  work.width = settled_number(config, "width", 0);
  work.height = settled_number(config, "height", 0);
  work.images = settled_number(config, "num_images_per_prompt", 1);
  work.frames = settled_number(config, "num_frames", 0) * settled_number(config, "num_chunks", 1);
  work.fps = settled_number(config, "fps", 0);
  return work;
}

std::string JobWork::text() const {
  return fmt::format("{}|{}|{}x{}x{}x{}x{}", model, task, width, height, images, frames, fps);
}

std::optional<JobWork> JobWork::read(std::string_view text) {
  const size_t numbers = text.rfind('|');
  const size_t task = numbers == std::string_view::npos ? numbers : text.rfind('|', numbers - 1);
  if (task == std::string_view::npos || task >= numbers) return std::nullopt;
  JobWork work;
  work.model = text.substr(0, task);
  work.task = text.substr(task + 1, numbers - task - 1);
  const std::array into{&work.width, &work.height, &work.images, &work.frames, &work.fps};
  const auto parts = split(text.substr(numbers + 1), 'x');
  if (parts.size() != into.size()) return std::nullopt;
  for (size_t i = 0; i < into.size(); ++i) {
    const char* end = parts[i].data() + parts[i].size();
    const auto read = std::from_chars(parts[i].data(), end, *into[i]);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    if (*into[i] < 0 || *into[i] > most_of_any) return std::nullopt;
  }
  return work;
}

}  // namespace omnirt::serve
