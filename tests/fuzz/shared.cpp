// What servers and workers find in their Redis: jobs, members, requests; and its address.
#include <array>

#include "base/error.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "serve/broker/redis_url.hpp"
#include "serve/broker/shared_job.hpp"
#include "serve/job_request.hpp"

namespace omnirt::fuzz {
namespace {

// An input's first byte picks one.
enum Kind : char { job, member, request, address, kinds };

std::string job_seed() {
  serve::SharedJob shared;
  shared.job.id = "0123456789abcdef";
  shared.job.model = "emoji";
  shared.job.reason = {"WorkerLost", "why"};
  shared.worker = "one";
  return serve::shared_job_text(shared);
}

std::string member_seed() {
  return serve::member_text({.id = "one",
                             .works = true,
                             .parts = {serve::WorkPart::encode, serve::WorkPart::whole},
                             .models = {"emoji", "other"},
                             .lease_ms = 3000});
}

constexpr const char* request_seed =
    R"({"request": {"model": "emoji", "inputs": {"prompt": ["a", "b"],)"
    R"( "image": {"sent file": "input-0.png"}, "mask": [{"sent file": "input-1.png"}]},)"
    R"( "config": {"seed": 7, "scheduler": "euler"}}, "strict": true})";
constexpr std::array address_seeds{"redis://ann:p%40ss@example.org:7000/3", "unix:///run/a.sock",
                                   "redis://[::1]:7000", "rediss://host"};

// Every text of a request that was accepted but the prompts: a name, or below the job's folder.
void require_inside(const Json& value) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    require(text.find('/') == std::string::npos || text.starts_with("/jobs/1"),
            "an accepted request names no path but the job's");
    // A name may hold two dots, and be none but them.
    require((text + '/').find("/../") == std::string::npos, "an accepted request leaves no folder");
  }
  if (value.is_structured()) {
    for (const auto& [name, each] : value.items()) require_inside(each);
  }
}

void read_request(const std::string& text) {
  const serve::ServedModels models{{{"emoji", "emoji"}}, "emoji", {}};
  const serve::PlacedRequest placed = serve::place_request(text, "/jobs/1", models);
  require(placed.request.model == "emoji", "a model is one that is served");
  require(placed.request.components.empty(), "no component is named");
  require_inside(placed.request.config);
  for (const auto& [name, value] : placed.request.inputs.items()) {
    if (name.find("prompt") == std::string::npos) require_inside(value);
  }
}

}  // namespace

std::string make_input(Random& random) {
  const auto kind = static_cast<char>(below(kinds, random));
  std::string seed = request_seed;
  if (kind == job) seed = job_seed();
  if (kind == member) seed = member_seed();
  if (kind == address)
    return kind + mutate_text(address_seeds[below(address_seeds.size(), random)], random);
  return kind +
         (random() % 2 ? mutate_text(seed, random) : mutate_json(Json::parse(seed), random).dump());
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  const std::string text(input.substr(1));
  switch (input.front()) {
    case job: {
      const serve::SharedJob shared = serve::read_shared_job(text);
      const std::string again = serve::shared_job_text(shared);
      require(serve::shared_job_text(serve::read_shared_job(again)) == again,
              "a job is read as it is written");
      break;
    }
    case member: {
      const std::string again = serve::member_text(serve::read_member(text));
      require(serve::member_text(serve::read_member(again)) == again,
              "a member is read as it is written");
      break;
    }
    case address:
      require(!serve::parse_redis_url(text).shown().empty(), "an address can be shown");
      break;
    default:
      read_request(text);
  }
}

}  // namespace omnirt::fuzz
