#include "schedulers/scheduler_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "schedulers/scheduler_name_table.hpp"

namespace omnirt {
namespace {

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= names.size();) {
    size_t to = std::min(names.find('|', from), names.size());
    parts.emplace_back(names.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

bool is_one_of(std::string_view names, const std::string& folded) {
  std::vector<std::string> parts = split(names);
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return folded_scheduler_name(part) == folded;
  });
}

bool has_key(const SchedulerInfo& info, std::string_view key) {
  return std::ranges::count(info.config_keys, key) > 0;
}

// One name, resolved among the schedulers of a build.
class Resolver {
 public:
  Resolver(std::span<const SchedulerInfo> among, const std::string& name, const SchedulerInfo* own,
           const Json& own_config)
      : among_(among), name_(name), own_(own), own_config_(own_config) {}

  NamedScheduler resolve() const {
    std::string folded = folded_scheduler_name(name_);
    refuse_missing(folded);
    if (auto plain = sampler(folded)) return *plain;
    for (const SigmaScheduleName& row : sigma_schedule_names()) {
      for (const std::string& each : split(row.names)) {
        std::string end = folded_scheduler_name(each);
        if (!folded.ends_with(end)) continue;
        std::string start = folded.substr(0, folded.size() - end.size());
        refuse_missing(start);
        if (auto base = start.empty() ? own() : sampler(start)) return with_schedule(*base, row);
      }
    }
    refuse("this build has no such scheduler", nearest(folded));
  }

 private:
  bool flow() const { return own_ && own_->made_for == SchedulerFor::flow_matching; }

  std::optional<NamedScheduler> own() const {
    return own_ ? std::optional(NamedScheduler{own_}) : std::nullopt;
  }

  std::optional<NamedScheduler> sampler(const std::string& folded) const {
    for (const SamplerName& row : sampler_names()) {
      if (!is_one_of(row.names, folded)) continue;
      bool of_flow = flow() && !row.flow_class.empty();
      const SchedulerInfo* info =
          find_scheduler(among_, std::string(of_flow ? row.flow_class : row.class_name));
      if (info)
        return NamedScheduler{info, parse_json(std::string(row.settings), "the table of names")};
    }
    if (const SchedulerInfo* info = find_scheduler(among_, folded)) return NamedScheduler{info};
    return std::nullopt;
  }

  NamedScheduler with_schedule(NamedScheduler named, const SigmaScheduleName& row) const {
    bool of_flow = named.info->made_for == SchedulerFor::flow_matching;
    if (of_flow && row.flow_has_it) return named;
    if (!has_key(*named.info, row.needs)) refuse_schedule(*named.info, row);
    // Only one spread can be on; the model's own is switched off.
    for (const char* spread : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas"}) {
      if (own_config_.value(spread, Json()) == true) named.settings[spread] = false;
    }
    const Json settings = parse_json(std::string(row.settings), "the table of names");
    for (const auto& [key, value] : settings.items()) {
      if (has_key(*named.info, key)) named.settings[key] = value;
    }
    return named;
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& way_out) const {
    throw Unsupported(Finding{"config.scheduler", name_, why, way_out});
  }

  [[noreturn]] void refuse_schedule(const SchedulerInfo& info, const SigmaScheduleName& row) const {
    std::vector<std::string> others;
    for (const SamplerName& sampler : sampler_names()) {
      const SchedulerInfo* other = find_scheduler(among_, std::string(sampler.class_name));
      if (other && has_key(*other, row.needs)) others.push_back(split(sampler.names).front());
    }
    refuse(fmt::format("{} has no {} schedule", info.class_name, split(row.names).front()),
           fmt::format("leave it out, or use one of:\n  {}", fmt::join(others, "\n  ")));
  }

  void refuse_missing(const std::string& folded) const {
    for (const MissingName& row : missing_names()) {
      if (is_one_of(row.names, folded)) {
        refuse("diffusers has no equal of it, nor has this build",
               fmt::format("the nearest is '{}'", row.nearest));
      }
    }
  }

  // A slip of the pen, or the names that begin like it.
  std::string nearest(const std::string& folded) const {
    constexpr size_t most = 6;
    std::vector<std::string> known, begin_so;
    auto add = [&](const std::string& each) {
      if (std::ranges::count(known, each) > 0) return;
      known.push_back(each);
      if (!folded.empty() && folded_scheduler_name(each).starts_with(folded))
        begin_so.push_back(each);
    };
    for (const SamplerName& row : sampler_names()) {
      if (find_scheduler(among_, std::string(row.class_name))) add(split(row.names).front());
    }
    for (const SchedulerInfo& info : among_) {
      for (const std::string& each : info.short_names) add(each);
    }
    if (begin_so.size() > most) begin_so.resize(most);
    if (begin_so.size() > 1) {
      return fmt::format("did you mean one of:\n  {}", fmt::join(begin_so, "\n  "));
    }
    if (!begin_so.empty()) return fmt::format("did you mean '{}'?", begin_so.front());
    for (const SchedulerInfo& info : among_) add(info.class_name);
    std::string close = nearest_name(name_, known);
    if (!close.empty()) return fmt::format("did you mean '{}'?", close);
    known.resize(std::min<size_t>(known.size(), sampler_names().size()));
    return fmt::format(
        "known, and any with -karras, -exponential, -beta or -sgm-uniform where it "
        "has that:\n  {}",
        fmt::join(known, "\n  "));
  }

  std::span<const SchedulerInfo> among_;
  const std::string& name_;
  const SchedulerInfo* own_;
  const Json& own_config_;
};

}  // namespace

NamedScheduler named_scheduler(std::span<const SchedulerInfo> among, const std::string& name,
                               const SchedulerInfo* own, const Json& own_config) {
  return Resolver(among, name, own, own_config).resolve();
}

std::vector<SchedulerNameRow> scheduler_name_rows() {
  std::vector<SchedulerNameRow> rows;
  for (const SamplerName& row : sampler_names()) {
    rows.push_back({split(row.names), std::string(row.class_name),
                    parse_json(std::string(row.settings), "the table of names")});
  }
  return rows;
}

std::vector<SchedulerNameRow> sigma_schedule_rows() {
  std::vector<SchedulerNameRow> rows;
  for (const SigmaScheduleName& row : sigma_schedule_names()) {
    rows.push_back(
        {split(row.names), "", parse_json(std::string(row.settings), "the table of names")});
  }
  return rows;
}

}  // namespace omnirt
