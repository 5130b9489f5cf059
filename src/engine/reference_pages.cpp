#include "engine/reference_pages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "engine/describe.hpp"
#include "nn/feature_metadata.hpp"
#include "ops/op_table.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/keys.hpp"
#include "schedulers/scheduler_names.hpp"

namespace omnirt {
namespace {

constexpr const char* made_by =
    "<!-- Written by `omnirt docs docs/reference` from the program's own declarations. -->\n\n";

// A cell of a table: no line ends, no bars.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string list(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + text + "`";
}

std::vector<std::string> tasks_of(const Family& family, const std::string& id) {
  std::vector<std::string> tasks;
  for (const ModelSpec& entry : family.entries) {
    if (entry.id == id) tasks.push_back(entry.task);
  }
  return tasks;
}

void add_entry(std::string& page, const Family& family, const ModelSpec& entry) {
  page += fmt::format("| {} | {} | {} | {} | {} | {} GB | {} |\n", code(entry.id), family.name,
                      list(tasks_of(family, entry.id)), entry.artifact_kind, entry.maturity,
                      entry.resource_hint.min_ram_gb, cell(entry.summary));
}

std::string models_page(const Catalogue& catalogue) {
  std::string page = std::string("# Models\n") + made_by;
  page +=
      "`maturity` is the status of support: experimental (runs, not compared whole), beta (equal "
      "to the reference over tiny checkpoints), stable (equal over a published one).\n\n"
      "| model | family | tasks | makes | maturity | memory, about | what it is |\n"
      "|---|---|---|---|---|---|---|\n";
  std::string aliases = "\n## Aliases\n\n| alias | model |\n|---|---|\n";
  std::string files = "\n## Checkpoints of one file\n\n";
  for (const Family& family : catalogue.families) {
    std::set<std::string> told;
    for (const ModelSpec& entry : family.entries) {
      if (!told.insert(entry.id).second) continue;
      if (entry.alias_of.empty())
        add_entry(page, family, entry);
      else
        aliases += fmt::format("| {} | {} |\n", code(entry.id), code(entry.alias_of));
    }
    for (const SingleFileKind& kind : family.single_files) files += "- " + kind.name + "\n";
  }
  std::string examples = "\n## Examples\n\n";
  for (const Family& family : catalogue.families) {
    for (const ModelSpec& entry : family.entries) {
      if (entry.alias_of.empty() && !entry.example.empty())
        examples += fmt::format("    {}\n", entry.example);
    }
  }
  return page + aliases + files + examples;
}

const char* kind_name(PortInfo::Kind kind) {
  switch (kind) {
    case PortInfo::Kind::component:
      return "component";
    case PortInfo::Kind::config:
      return "config";
    case PortInfo::Kind::input:
      return "input";
    case PortInfo::Kind::optional_input:
      return "optional input";
    case PortInfo::Kind::output:
      return "output";
    case PortInfo::Kind::inout:
      return "changed";
    case PortInfo::Kind::described:
      return "described";
  }
  return "";
}

const char* guidance_name(Guidance guidance) {
  if (guidance == Guidance::per_condition) return ", once per condition";
  return guidance == Guidance::takes_over ? ", sees all conditions" : "";
}

std::string ports_table(const Block& block) {
  std::vector<PortInfo> ports;
  std::ranges::copy_if(block.ports(), std::back_inserter(ports), std::logical_not<>(),
                       &PortInfo::adopted);
  std::ranges::copy(block.described(), std::back_inserter(ports));
  if (ports.empty()) return "";
  std::string table = "\n| port | kind | shape | |\n|---|---|---|---|\n";
  for (const PortInfo& port : ports) {
    std::string shape = port.shape.empty() ? "" : fmt::format("{{{}}}", list(port.shape));
    table += fmt::format("| {} | {} | {} | {} |\n", code(port.name), kind_name(port.kind), shape,
                         cell(port.help));
  }
  return table;
}

std::string block_text(const Block& block) {
  std::string text = to_string(block.stage()) + std::string(guidance_name(block.guidance()));
  if (!block.trigger().text().empty())
    text += fmt::format("; takes part when `{}`", block.trigger().text());
  std::string inner;
  for (const std::string& each : block_names(block.inner()))
    inner += (inner.empty() ? "; runs " : ", ") + code(each);
  return text + inner + "\n" + ports_table(block);
}

std::string blocks_page(const Catalogue& catalogue) {
  std::string page = std::string("# Blocks\n") + made_by +
                     "Each family's list, in the order in which its blocks run; "
                     "`omnirt models ID --workflows` says which of them a task selects.\n";
  // Most loops are made of the same blocks: where each was described first.
  std::map<std::string, std::string> parts;
  for (const Family& family : catalogue.families) {
    page += fmt::format("\n## {}\n", family.name);
    for (const auto& [name, block] : all_blocks(family.blocks)) {
      std::string text = block_text(*block);
      const bool part = name.find('.') != std::string::npos;
      auto [known, first] =
          parts.try_emplace(text, fmt::format("as `{}` of {}\n", name, family.name));
      page += fmt::format("\n### {}\n\n{}", name, part && !first ? known->second : text);
    }
  }
  return page;
}

const char* type_name(KeyInfo::Type type) {
  switch (type) {
    case KeyInfo::Type::boolean:
      return "yes or no";
    case KeyInfo::Type::integer:
      return "integer";
    case KeyInfo::Type::number:
      return "number";
    case KeyInfo::Type::text:
      return "text";
    case KeyInfo::Type::list:
      return "list";
    case KeyInfo::Type::object:
      return "object";
  }
  return "";
}

std::string range_of(const KeyInfo& key) {
  if (!key.choice_list().empty()) return list(key.choice_list());
  bool low = key.min > -1e300, high = key.max < 1e300;
  if (low && high) return fmt::format("{}..{}", key.min, key.max);
  if (low) return fmt::format("{} and over", key.min);
  return high ? fmt::format("up to {}", key.max) : "";
}

std::string key_row(const KeyInfo& key, const std::string& flag) {
  Json fallback = key.fallback_json();
  return fmt::format("| {} | {} | {} | {} | {}{} |\n", code(key.name), type_name(key.type),
                     fallback.is_null() ? "unset" : cell(fallback.dump()), cell(range_of(key)),
                     flag.empty() ? "" : code(flag) + " | ", cell(key.help));
}

std::string keys_page(const Catalogue& catalogue) {
  std::string page = std::string("# Config keys\n") + made_by +
                     "Keys of `config` in a request, and the flag of each. A model's own defaults "
                     "override these (`omnirt models ID`).\n\n"
                     "| key | type | default | range | flag | |\n|---|---|---|---|---|---|\n";
  for (const KeyInfo* key : all_keys(catalogue)) {
    std::string brief = *key->brief ? fmt::format("-{}, ", key->brief) : "";
    page += key_row(*key, brief + "--" + key->flag_name());
  }
  return page;
}

std::string names_table(const char* heading, const std::vector<SchedulerNameRow>& rows) {
  std::string table = heading;
  for (const SchedulerNameRow& row : rows) {
    std::string what = row.class_name.empty() ? "" : row.class_name + " | ";
    table += fmt::format("| {} | {}{} |\n", list(row.names), what,
                         row.settings.empty() ? "" : "`" + row.settings.dump() + "`");
  }
  return table;
}

std::string scheduler_names() {
  return "\n## Names of other programs\n\nThe names of AUTOMATIC1111's web UI, k-diffusion, "
         "ComfyUI "
         "and stable-diffusion.cpp, in any case; spaces, - and _ are the same, + is p.\n" +
         names_table("\n| name | class | settings |\n|---|---|---|\n", scheduler_name_rows()) +
         "\nA sigma schedule's name may follow (`dpmpp-2m-karras`), or stand alone for the model's "
         "own scheduler with it:\n" +
         names_table("\n| sigma schedule | settings |\n|---|---|\n", sigma_schedule_rows());
}

std::string schedulers_page(const Catalogue& catalogue) {
  std::string page =
      std::string("# Schedulers\n") + made_by +
      "Named in `config.scheduler` by class, by short name, or as other programs name it (below); "
      "`config.scheduler_config` sets keys over the model's own.\n" +
      scheduler_names();
  for (const SchedulerInfo& info : catalogue.schedulers) {
    page += fmt::format("\n## {}\n\n{}\n\nShort names: {}.\n\nConfig keys: {}.\n", info.class_name,
                        info.summary, list(info.short_names), list(info.config_keys));
  }
  return page;
}

std::string guiders_page(const Catalogue& catalogue) {
  std::string page = std::string("# Guiders\n") + made_by +
                     "`guider {\"type\": ..., ...}` in a request picks one, with its own config; "
                     "[guiders.md](../guiders.md) says what each is for.\n";
  for (const GuiderInfo& info : catalogue.guiders) {
    page += fmt::format("\n## {}\n\n{}\n", info.type, info.summary);
    if (!info.components.empty())
      page += fmt::format("\nNeeds components: {}.\n", list(info.components));
    if (info.keys.empty()) continue;
    page += "\n| key | type | default | range | |\n|---|---|---|---|---|\n";
    for (const KeyInfo* key : info.keys) page += key_row(*key, "");
  }
  return page;
}

// The metadata with the class's default config; nothing where a class has none (PixArt's shares its
// name with networks that are not implemented).
std::optional<nn::Metadata> default_metadata(const nn::NetworkInfo& info) {
  try {
    return info.make(Json::object(), info.class_name)->metadata();
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

std::string networks_page(const Catalogue& catalogue) {
  std::string page = std::string("# Network classes\n") + made_by +
                     "As each says of itself with its class's default config; `omnirt inspect "
                     "--describe CLASS|FOLDER` shows the same for a folder's config.\n";
  for (const nn::NetworkInfo& info : catalogue.networks) {
    page += fmt::format("\n## {}\n\n{} ({}).\n", info.class_name, info.summary, info.role);
    std::optional<nn::Metadata> metadata = default_metadata(info);
    if (!metadata) {
      page += "\nIts config decides: `omnirt inspect --describe FOLDER`.\n";
      continue;
    }
    page += "\n| attribute | value | |\n|---|---|---|\n";
    for (const nn::Metadata::Row& row : metadata->items()) {
      page += fmt::format("| {} | {} | {} |\n", code(row.key), cell(nn::shown_value(row.value)),
                          cell(row.what));
    }
  }
  return page;
}

std::string ops_page() {
  std::string page = std::string("# Ops\n") + made_by +
                     "What networks compute with; a backend may bring kernels for any of them, and "
                     "a script of the cpu-stub may let any of them fail "
                     "([adding-a-backend.md](../adding-a-backend.md)).\n\n| op | |\n|---|---|\n";
  for (const ops::OpInfo& op : ops::list_ops())
    page += fmt::format("| {} | {} |\n", code(op.name), cell(op.summary));
  return page;
}

}  // namespace

std::map<std::string, std::string> reference_pages(const Catalogue& catalogue) {
  return {{"models.md", models_page(catalogue)},
          {"blocks.md", blocks_page(catalogue)},
          {"keys.md", keys_page(catalogue)},
          {"schedulers.md", schedulers_page(catalogue)},
          {"guiders.md", guiders_page(catalogue)},
          {"networks.md", networks_page(catalogue)},
          {"ops.md", ops_page()}};
}

}  // namespace omnirt
