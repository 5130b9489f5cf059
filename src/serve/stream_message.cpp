#include "serve/stream_message.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/error.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t max_job_id_bytes = 64;

// The members of a message, each taken by its name; what is left is unknown.
class StreamMembers {
 public:
  explicit StreamMembers(Json members) : members_(std::move(members)) {
    if (!members_.is_object()) refuse("message", members_, "an object is expected");
  }

  StreamMessage read() {
    StreamMessage made;
    const std::string type = text("type", max_job_id_bytes, /*needed=*/true);
    if (auto known = choice_of<StreamCall>(type))
      made.type = *known;
    else
      refuse("type", type, "generate, follow or cancel is expected");
    made.ref = text("ref", max_stream_ref_bytes, /*needed=*/false);
    if (made.type == StreamCall::generate)
      made.request = object("request");
    else
      made.job = text("job", max_job_id_bytes, /*needed=*/true);
    if (made.type == StreamCall::follow) made.after = number("after");
    for (const auto& [name, value] : members_.items()) refuse(name, value, "unknown here");
    if (!findings_.empty()) throw InvalidRequest(findings_);
    return made;
  }

 private:
  void refuse(const std::string& name, const Json& value, const std::string& message) {
    findings_.push_back({name.substr(0, 100), shown(value), message, "docs/server.md"});
  }
  Json take(const char* name) {
    if (!members_.is_object()) return {};
    auto it = members_.find(name);
    if (it == members_.end()) return {};
    Json value = std::move(*it);
    members_.erase(it);
    return value;
  }
  std::string text(const char* name, size_t most, bool needed) {
    const Json value = take(name);
    if (value.is_null() && !needed) return "";
    if (value.is_string() && !value.get_ref<const std::string&>().empty() &&
        value.get_ref<const std::string&>().size() <= most)
      return value.get<std::string>();
    refuse(name, value, fmt::format("a text of 1 to {} bytes is expected", most));
    return "";
  }
  Json object(const char* name) {
    Json value = take(name);
    if (!value.is_object()) refuse(name, value, "an object is expected");
    return value;
  }
  int64_t number(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return -1;
    if (value.is_number_integer() && value >= -1 && value <= INT64_MAX) return value.get<int64_t>();
    refuse(name, value, "the number of an event is expected");
    return -1;
  }

  Json members_;
  std::vector<Finding> findings_;
};

}  // namespace

StreamMessage read_stream_message(std::string_view text) {
  return StreamMembers(parse_json(text, "the message", text.size())).read();
}

}  // namespace omnirt::serve
