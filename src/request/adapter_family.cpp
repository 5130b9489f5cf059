#include "request/adapter_family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/path_text.hpp"

namespace omnirt {
namespace {

using adapters::AdapterFile;

std::string underscored(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

// A layer's name as marks are written: with the component that the file names before it.
std::string marked_name(const adapters::FileLayer& layer) {
  return layer.component + ":" + underscored(layer.name);
}

bool tells(const AdapterMark& mark, const AdapterFile& file) {
  return std::ranges::any_of(file.layers, [&](const adapters::FileLayer& layer) {
    if (marked_name(layer).find(mark.layer) == std::string::npos) return false;
    if (mark.width == 0) return true;
    return std::ranges::any_of(layer.parts, [&](const auto& part) {
      const auto& shape = part.second.entry->shape;
      return shape.size() >= 2 && shape[1] == mark.width;
    });
  });
}

bool tells(const std::vector<int64_t>& widths, const AdapterFile& file) {
  if (widths.empty() || file.tokens.empty() || !file.layers.empty()) return false;
  std::vector<int64_t> found;
  for (const auto& token : file.tokens) found.push_back(token.vectors.entry->shape.back());
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found == widths;
}

bool tells_metadata(const AdapterFamily& family, const AdapterFile& file) {
  for (const char* key : {"ss_base_model_version", "modelspec.architecture"}) {
    auto said = file.metadata.find(key);
    if (said == file.metadata.end()) continue;
    for (const std::string& start : family.metadata) {
      if (said->second.starts_with(start)) return true;
    }
  }
  return false;
}

bool is_for(const AdapterFamily& family, const AdapterFile& file) {
  return tells_metadata(family, file) || tells(family.embedding_widths, file) ||
         std::ranges::any_of(family.marks, [&](const auto& mark) { return tells(mark, file); });
}

const AdapterFamily* own_family(const Proposal& proposal) {
  if (!proposal.family || !proposal.spec) return nullptr;
  const auto& kinds = proposal.family->adapter_families;
  auto it = std::ranges::find_if(kinds, [&](const AdapterFamily& kind) {
    return std::ranges::find(kind.ids, proposal.spec->id) != kind.ids.end();
  });
  return it == kinds.end() ? nullptr : &*it;
}

}  // namespace

std::string family_name(const Proposal& proposal) {
  const AdapterFamily* own = own_family(proposal);
  if (own) return own->name;
  return proposal.spec ? proposal.spec->id : "unknown";
}

std::optional<std::string> other_family(const Proposal& proposal, const AdapterFile& file) {
  const AdapterFamily* own = own_family(proposal);
  // A file that the model's own kind claims as well is not another's.
  if (own && is_for(*own, file)) return std::nullopt;
  // Families share parts (text encoders), so what identifies those that are not here comes first.
  for (const AdapterFamily& kind : proposal.catalogue->foreign_adapters) {
    if (is_for(kind, file)) return kind.name;
  }
  for (const Family& family : proposal.catalogue->families) {
    for (const AdapterFamily& kind : family.adapter_families) {
      if (&kind != own && is_for(kind, file)) return kind.name;
    }
  }
  return std::nullopt;
}

Finding family_finding(const Proposal& proposal, const std::string& field, const AdapterFile& file,
                       const std::string& other) {
  return {field + ".path", path_text(file.path),
          fmt::format("this is a {} adapter; the model is {}", other, family_name(proposal)),
          "use it with a model of its own kind, or an adapter made for this one"};
}

}  // namespace omnirt
