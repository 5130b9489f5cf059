// Jobs and members as texts. What comes back from a broker may have been written by anyone who
// reaches it.
#include <algorithm>

#include "base/error.hpp"
#include "base/json.hpp"
#include "serve/broker/shared_job.hpp"
#include "serve/stored_record.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t max_text_bytes = 64 << 10;
constexpr size_t max_names = 1024;
// What --lease-seconds allows: a member that claims more would live for as long.
constexpr int64_t max_lease_ms = 3'600'000;

// The members of an object, each of its type and in its range, or the text is refused.
class Fields {
 public:
  Fields(const std::string& text, const char* what) : what_(what) {
    if (text.size() > max_text_bytes) refuse("is too long");
    json_ = parse_json(text, what, max_text_bytes);
    if (!json_.is_object()) refuse("is no object");
  }
  std::string text(const char* name, size_t most = max_job_word_bytes) const {
    const Json& value = at(name);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > most) refuse(name);
    return value.get<std::string>();
  }
  int64_t number(const char* name, int64_t least = 0) const {
    const Json& value = at(name);
    constexpr int64_t most = max_stored_number;
    if (!value.is_number_integer()) refuse(name);
    // Of unsigned ones the largest would be read as negative.
    if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most))
      refuse(name);
    const auto number = value.get<int64_t>();
    if (number < least || number > most) refuse(name);
    return number;
  }
  bool flag(const char* name) const {
    const Json& value = at(name);
    if (!value.is_boolean()) refuse(name);
    return value.get<bool>();
  }
  template <class Enum>
  Enum choice(const char* name) const {
    auto value = choice_of<Enum>(text(name));
    if (!value) refuse(name);
    return *value;
  }
  std::set<std::string> names(const char* name) const {
    const Json& value = at(name);
    if (!value.is_array() || value.size() > max_names) refuse(name);
    std::set<std::string> all;
    for (const Json& each : value) {
      if (!each.is_string() || each.get_ref<const std::string&>().size() > max_job_word_bytes)
        refuse(name);
      all.insert(each.get<std::string>());
    }
    return all;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidFile({what_, why, "is not what this program writes there", ""});
  }

 private:
  const Json& at(const char* name) const {
    auto it = json_.find(name);
    if (it == json_.end()) refuse(name);
    return *it;
  }
  const char* what_;
  Json json_;
};

std::string text_of_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string shared_job_text(const SharedJob& shared) {
  const Job& job = shared.job;
  return text_of_json({{"id", job.id},
                       {"number", job.number},
                       {"client", job.client},
                       {"model", job.model},
                       {"work", job.work},
                       {"priority", name_of(job.priority)},
                       {"steps", job.steps},
                       {"created_ms", job.created_ms},
                       {"deadline_ms", job.deadline_ms},
                       {"started_ms", job.started_ms},
                       {"ended_ms", job.ended_ms},
                       {"attempts", job.attempts},
                       {"crashes", job.crashes},
                       {"state", name_of(job.state)},
                       {"waited_for", job.waited_for},
                       {"cancelling", job.cancelling},
                       {"reason_kind", job.reason.kind},
                       {"reason", job.reason.message},
                       {"bytes", job.bytes},
                       {"part", name_of(shared.part)},
                       {"worker", shared.worker},
                       {"waiter", shared.waiter},
                       {"put_ms", shared.put_ms},
                       {"files_attempt", shared.files_attempt}});
}

SharedJob read_shared_job(const std::string& text) {
  const Fields fields(text, "a job of the broker's");
  SharedJob shared;
  Job& job = shared.job;
  job.id = fields.text("id");
  job.number = fields.number("number");
  job.client = fields.text("client");
  job.model = fields.text("model");
  job.work = fields.text("work");
  job.priority = fields.choice<Priority>("priority");
  job.steps = fields.number("steps", 1);
  job.created_ms = fields.number("created_ms");
  job.deadline_ms = fields.number("deadline_ms");
  job.started_ms = fields.number("started_ms");
  job.ended_ms = fields.number("ended_ms");
  job.attempts = fields.number("attempts");
  job.crashes = fields.number("crashes");
  job.state = fields.choice<JobState>("state");
  job.waited_for = fields.flag("waited_for");
  job.cancelling = fields.flag("cancelling");
  job.reason = {fields.text("reason_kind"), fields.text("reason", max_job_reason_bytes * 2)};
  job.bytes = fields.number("bytes");
  shared.part = fields.choice<WorkPart>("part");
  shared.worker = fields.text("worker");
  shared.waiter = fields.text("waiter");
  shared.put_ms = fields.number("put_ms");
  shared.files_attempt = fields.number("files_attempt");
  if (shared.files_attempt > job.attempts) fields.refuse("files_attempt");
  check_stored_job(job);
  return shared;
}

std::string member_text(const Member& member) {
  Json parts = Json::array(), models = Json::array();
  for (WorkPart part : member.parts) parts.push_back(name_of(part));
  for (const std::string& model : member.models) models.push_back(model);
  return text_of_json({{"works", member.works},
                       {"parts", parts},
                       {"models", models},
                       {"lease_ms", member.lease_ms},
                       {"order", name_of(member.order)},
                       {"leaving", member.leaving}});
}

Member read_member(const std::string& text) {
  const Fields fields(text, "a member of the broker's");
  Member member;
  member.works = fields.flag("works");
  for (const std::string& part : fields.names("parts")) {
    auto known = choice_of<WorkPart>(part);
    if (!known) fields.refuse("parts");
    member.parts.insert(*known);
  }
  member.models = fields.names("models");
  member.lease_ms = fields.number("lease_ms");
  if (member.lease_ms > max_lease_ms) fields.refuse("lease_ms");
  member.order = fields.choice<JobOrder>("order");
  member.leaving = fields.flag("leaving");
  return member;
}

}  // namespace omnirt::serve
