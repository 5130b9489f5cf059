#include "text/prompt_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "text/prompt_a1111.hpp"
#include "text/prompt_text.hpp"

namespace omnirt::text {
namespace {

// A part of a prompt that is one of several, by the step.
struct Turning {
  std::string words;  // of a part that has no options
  std::vector<std::vector<Turning>> options;
  std::optional<int64_t> when;  // the first step of the second option; none: by turns
};
using Turnings = std::vector<Turning>;

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, std::string_view field, int64_t steps)
      : text_(text), field_(field), steps_(steps), closing_(text.size(), 0) {
    match_brackets();
  }

  bool changes() const { return changes_; }
  Turnings read() { return read(0, text_.size()); }

 private:
  // closing_[i]: where the bracket that opens at i closes; 0: nowhere.
  void match_brackets() {
    std::vector<size_t> open;
    for (size_t i = 0; i < text_.size(); ++i) {
      char c = text_[i];
      if (c == '\\') ++i;
      if (c == '(' || c == '[') open.push_back(i);
      if (c == ')' && !open.empty() && text_[open.back()] == '(') close(open, i);
      if (c != ']') continue;
      auto square =
          std::find_if(open.rbegin(), open.rend(), [&](size_t at) { return text_[at] == '['; });
      if (square == open.rend()) continue;
      open.erase(square.base(), open.end());  // round ones that were not closed are words
      close(open, i);
    }
  }

  void close(std::vector<size_t>& open, size_t at) {
    if (open.size() > max_prompt_depth) {
      throw InvalidRequest(Finding{std::string(field_), "",
                                   fmt::format("more than {} brackets are open", max_prompt_depth),
                                   "write fewer"});
    }
    closing_[open.back()] = at;
    open.pop_back();
  }

  // The places of `mark` from `begin` to `end` that no bracket holds.
  std::vector<size_t> marks(char mark, size_t begin, size_t end) const {
    std::vector<size_t> all;
    for (size_t i = begin; i < end; ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (closing_[i] > 0) {
        i = closing_[i];
      } else if (text_[i] == mark) {
        all.push_back(i);
      }
    }
    return all;
  }

  Turnings read(size_t begin, size_t end) {
    Turnings made;
    auto words = [&](size_t from, size_t to) {
      if (made.empty() || !made.back().options.empty()) made.emplace_back();
      made.back().words += text_.substr(from, to - from);
    };
    for (size_t i = begin; i < end; ++i) {
      if (text_[i] == '\\' && i + 1 < end) {
        words(i, i + 2);
        ++i;
      } else if (text_[i] == '[' && closing_[i] > 0) {
        auto turning = bracket(i + 1, closing_[i]);
        if (turning) {
          made.push_back(std::move(*turning));
          i = closing_[i];
        } else {
          words(i, i + 1);
        }
      } else {
        words(i, i + 1);
      }
    }
    return made;
  }

  // What is between square brackets, where it is more than words.
  std::optional<Turning> bracket(size_t begin, size_t end) {
    std::vector<size_t> bars = marks('|', begin, end);
    std::optional<int64_t> when;
    if (bars.empty()) {
      bars = marks(':', begin, end);
      if (bars.empty() || bars.size() > 2) return std::nullopt;
      when = step_of(text_.substr(bars.back() + 1, end - bars.back() - 1));
      if (!when) return std::nullopt;
      end = bars.back();
      bars.pop_back();
    }
    changes_ = true;
    Turning made;
    made.when = when;
    // [b:when]: nothing, and b from then on.
    if (when && bars.empty()) made.options.emplace_back();
    bars.push_back(end);
    for (size_t bar : bars) {
      made.options.push_back(read(begin, bar));
      begin = bar + 1;
    }
    return made;
  }

  std::optional<int64_t> step_of(std::string_view text) const {
    text = without_space(text);
    double value = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0)
      return std::nullopt;
    if (text.find('.') != text.npos) value *= static_cast<double>(steps_);
    return static_cast<int64_t>(std::clamp(value, 0.0, static_cast<double>(steps_)));
  }

  std::string_view text_, field_;
  int64_t steps_;
  std::vector<size_t> closing_;
  bool changes_ = false;
};

void append(std::string& text, const Turnings& parts, int64_t step) {
  for (const Turning& part : parts) {
    text += part.words;
    if (part.options.empty()) continue;
    size_t chosen =
        part.when ? (step < *part.when ? 0 : 1) : static_cast<size_t>(step) % part.options.size();
    append(text, part.options[chosen], step);
  }
}

}  // namespace

ScheduledText schedule_of(std::string_view text, std::string_view field, int64_t steps) {
  check_prompt(text, field);
  ScheduleReader reader(text, field, steps);
  Turnings parts = reader.read();
  if (!reader.changes()) return {{std::string(text)}, {}};
  auto refuse = [&](std::string value, std::string message) {
    throw InvalidRequest(Finding{std::string(field), std::move(value), std::move(message),
                                 "write fewer words that change, or several requests"});
  };
  if (text.size() > max_scheduled_prompt_bytes) {
    refuse(
        fmt::format("{} bytes", text.size()),
        fmt::format("a prompt that changes with the step may have {}", max_scheduled_prompt_bytes));
  }
  ScheduledText made;
  for (int64_t step = 0; step < steps; ++step) {
    std::string now;
    append(now, parts, step);
    auto known = std::ranges::find(made.texts, now);
    made.by_step.push_back(known - made.texts.begin());
    if (known == made.texts.end()) made.texts.push_back(std::move(now));
    if (made.texts.size() > max_prompt_turns) {
      refuse("", fmt::format("the prompt is more than {} different ones over its steps",
                             max_prompt_turns));
    }
  }
  if (made.texts.size() == 1) made.by_step.clear();
  return made;
}

}  // namespace omnirt::text
