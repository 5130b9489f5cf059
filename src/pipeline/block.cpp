#include "pipeline/block.hpp"

#include <algorithm>
#include <map>

#include "base/ensure.hpp"
#include "base/error.hpp"

namespace omnirt {

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::prepare_conditions:
      return "prepare_conditions";
    case Stage::prepare_latents:
      return "prepare_latents";
    case Stage::denoise_loop:
      return "denoise_loop";
    case Stage::decode:
      return "decode";
    case Stage::export_artifacts:
      return "export";
  }
  return "";
}

namespace {

// Components, config keys and values have names of their own.
bool same_name(const PortInfo& a, const PortInfo& b) {
  using Kind = PortInfo::Kind;
  return a.name == b.name && (a.kind == Kind::component) == (b.kind == Kind::component) &&
         (a.kind == Kind::config) == (b.kind == Kind::config);
}

PortInfo* find_port(std::vector<PortInfo>& ports, const PortInfo& info) {
  auto it =
      std::ranges::find_if(ports, [&](const PortInfo& port) { return same_name(port, info); });
  return it == ports.end() ? nullptr : &*it;
}

bool is_value(const PortInfo& port) {
  return port.reads() || port.writes();
}

}  // namespace

Port::Port(Block* block, PortInfo info) : name_(info.name), block_(block) {
  auto& ports = info.kind == PortInfo::Kind::described ? block->described_ : block->ports_;
  PortInfo* known = find_port(ports, info);
  ensure(!known || known->adopted, "block '{}' declares '{}' twice", block->name_, info.name);
  if (known)
    *known = std::move(info);
  else
    ports.push_back(std::move(info));
}

std::shared_ptr<const Block> Block::with_inner(const BlockList&) const {
  throw InternalError("block '" + name_ + "' runs no other blocks");
}

// A value that is read before a later block of a list writes it is read and replaced.
void Block::adopt(const PortInfo& port) {
  using Kind = PortInfo::Kind;
  auto known = std::ranges::find_if(ports_, [&](const PortInfo& each) {
    return same_name(each, port) && (!is_value(port) || each.type == port.type);
  });
  if (known == ports_.end()) {
    ports_.push_back(port);
    ports_.back().adopted = true;
  } else if (known->adopted && port.writes() && !known->writes()) {
    known->kind = known->kind == Kind::input ? Kind::inout : Kind::output;
  }
}

void Block::adopt_all(const std::vector<const Block*>& list, Made made,
                      const std::vector<std::string>& given) {
  std::map<std::string, std::type_index> by_list;
  for (const Block* block : list) {
    for (const PortInfo& port : block->ports_) {
      auto earlier = by_list.find(port.name);
      if (port.reads() && earlier != by_list.end()) {
        if (earlier->second == port.type) continue;
        throw InvalidRequest({"block " + block->name(), port.name,
                              "an earlier block of '" + name_ + "' makes it with another type",
                              "give it another name"});
      }
      bool local = made == Made::is_local && port.kind == PortInfo::Kind::output;
      if (!local && std::ranges::find(given, port.name) == given.end()) adopt(port);
    }
    for (const PortInfo& port : block->ports_) {
      if (port.writes()) by_list.insert_or_assign(port.name, port.type);
    }
  }
}

void Block::adopt_list(const BlockList& list, Made made, const std::vector<std::string>& given) {
  std::vector<const Block*> blocks;
  for (const auto& block : list) blocks.push_back(block.get());
  adopt_all(blocks, made, given);
}

}  // namespace omnirt
