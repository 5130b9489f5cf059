#include "hub/attempts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

namespace omnirt::hub {
namespace {

using std::chrono::milliseconds;

constexpr int most_failed = 5;
constexpr milliseconds first_wait{500}, longest_wait{120'000};

constexpr int unauthorised = 401, forbidden = 403, not_found = 404, timed_out = 408, too_many = 429,
              server_error = 500, last_server_error = 599;

bool may_pass(int status) {
  return status == timed_out || status == too_many ||
         (status >= server_error && status <= last_server_error);
}

// What the hub says besides the status, where it does (huggingface_hub's utils/_http.py).
Finding refusal_of(const Answer& answer, const std::string& id, const Settings& settings) {
  const std::string code = answer.header("x-error-code");
  const std::string page = fmt::format("{}/{}", settings.endpoint, id);
  const std::string token =
      settings.token.empty() ? "set HF_TOKEN to a token that may read it"
                             : "the token (HF_TOKEN) that was sent may not read it; take another";
  if (code == "GatedRepo" || answer.status == forbidden)
    return {"model", id,
            "the repository asks for consent to its terms, or the token may not read it",
            fmt::format("agree at {}, and {}", page, token)};
  if (code == "RevisionNotFound")
    return {"--revision", id, "the repository has no such branch, tag or commit",
            fmt::format("see {}", page)};
  if (code == "EntryNotFound")
    return {"model", id, "the repository lists a file that it does not have", "try again later"};
  return {"model", id, "there is no such repository, or it is private",
          fmt::format("check the name; for a private one, {}", token)};
}

}  // namespace

void sleep_for(milliseconds time) {
  std::this_thread::sleep_for(time);
}

bool Attempts::again(milliseconds at_least) {
  if (++failed_ > most_failed) return false;
  // The first failure after bytes is a cut connection: the next one is opened at once.
  const milliseconds own = failed_ == 1 ? milliseconds{0} : first_wait * (1 << (failed_ - 2));
  if (const milliseconds time = std::max(own, at_least); time.count() > 0) (*wait_)(time);
  return true;
}

std::optional<milliseconds> asked_to_wait(const Answer& answer) {
  if (!may_pass(answer.status)) return std::nullopt;
  const std::string text = answer.header("retry-after");
  int64_t seconds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0)
    return milliseconds{0};
  return std::min(longest_wait, milliseconds{1000} * std::min<int64_t>(seconds, 3600));
}

void refuse_answer(const Answer& answer, const std::string& address, const std::string& id,
                   const Settings& settings) {
  if (answer.has_content()) return;
  if (answer.status == unauthorised || answer.status == forbidden || answer.status == not_found)
    throw InvalidRequest(refusal_of(answer, id, settings));
  throw RunFailed(fmt::format("{} answers with status {}", address, answer.status));
}

std::string get_text(Connection& connection, const std::string& address, const std::string& id,
                     const Settings& settings, size_t max_bytes, const Wait& wait) {
  Attempts attempts(wait);
  for (;;) {
    std::string text;
    milliseconds asked{0};
    auto take = [&](const Answer&, std::span<const std::byte> bytes) {
      if (text.size() + bytes.size() > max_bytes)
        throw RunFailed(fmt::format("{} answers with more than {} bytes", address, max_bytes));
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    try {
      const Answer answer = connection.get(address, 0, take);
      const auto later = asked_to_wait(answer);
      if (!later) {
        refuse_answer(answer, address, id, settings);
        return text;
      }
      asked = *later;
      if (!attempts.again(asked)) refuse_answer(answer, address, id, settings);
    } catch (const ConnectionLost&) {
      if (!attempts.again()) throw;
    }
  }
}

}  // namespace omnirt::hub
