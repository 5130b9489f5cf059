#include <fmt/format.h>

#include <memory>

#include "base/byte_size.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "hub/cached_repositories.hpp"
#include "hub/settings.hpp"

namespace omnirt::cli {
namespace {

struct CacheFlags {
  std::vector<std::string> ids;
  bool prune = false, json = false;
};

std::filesystem::path cache_or_refuse() {
  std::filesystem::path cache = hub::cache_folder();
  hub::check_cache_folder(cache);
  return cache;
}

int list_cache(bool json) {
  const std::filesystem::path cache = cache_or_refuse();
  Json rows = Json::array();
  uint64_t total = 0;
  for (const hub::CachedRepository& each : hub::cached_repositories(cache)) {
    total += each.bytes;
    rows.push_back({{"repository", each.id},
                    {"bytes", each.bytes},
                    {"bytes_begun", each.bytes_begun},
                    {"revisions", each.revisions},
                    {"folder", each.folder.string()}});
    if (json) continue;
    const std::string begun =
        each.bytes_begun ? fmt::format(", {} of them begun", shown_byte_size(each.bytes_begun))
                         : std::string();
    say("{:>10}  {} ({}{})\n", shown_byte_size(each.bytes), each.id,
        fmt::join(each.revisions, ", "), begun);
  }
  if (json)
    say_json({{"cache", cache.string()}, {"bytes", total}, {"repositories", rows}});
  else
    say("{:>10}  in {}\n", shown_byte_size(total), cache.string());
  return 0;
}

int remove_from_cache(const std::vector<std::string>& ids) {
  const std::filesystem::path cache = cache_or_refuse();
  for (const std::string& id : ids)
    say("{}: {} freed\n", id, shown_byte_size(hub::remove_repository(cache, id)));
  return 0;
}

int prune() {
  say("{} freed\n", shown_byte_size(hub::prune_cache(cache_or_refuse())));
  return 0;
}

}  // namespace

void add_cache(CLI::App& app, Run& run) {
  auto flags = std::make_shared<CacheFlags>();
  CLI::App* command = app.add_subcommand(
      "cache", "list what is in the local cache of the Hugging Face hub, or free it");
  CLI::Option* remove = command
                            ->add_option("--remove", flags->ids,
                                         "take this repository out of the cache; again for more")
                            ->allow_extra_args(false)
                            ->type_name("ID");
  command
      ->add_flag("--prune", flags->prune,
                 "take out what nothing names: beginnings of files and old snapshots")
      ->excludes(remove);
  command->add_flag("--json", flags->json, "print the list as JSON");
  command->callback([flags, &run] {
    run = [flags] {
      if (!flags->ids.empty()) return remove_from_cache(flags->ids);
      return flags->prune ? prune() : list_cache(flags->json);
    };
  });
}

}  // namespace omnirt::cli
