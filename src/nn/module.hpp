#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/site_plan.hpp"
#include "runtime/context.hpp"

namespace omnirt::nn {

// A node of a network's tree. It holds names and shapes, no tensors: the tree is const once built
// and shared by all requests. Members name themselves as the checkpoint does and register with
// their parent as they are constructed, so a module is neither copied nor moved.
class Module {
 public:
  Module() = default;  // a root
  Module(Module* parent, const std::string& name);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  // "down_blocks.0.resnets.1"; "" at the root.
  const std::string& path() const { return path_; }
  // As the checkpoint's authors call the class ("ResnetBlock2D"); "" for plain layers and lists.
  virtual const char* class_name() const { return ""; }
  // What a site plan can change here; most modules have nothing.
  virtual SiteKind site_kind() const { return SiteKind::none; }
  const std::vector<Module*>& children() const { return children_; }
  // This module and all below, in order of construction.
  void visit(const std::function<void(const Module&)>& visitor) const;
  // All parameters of the tree, in order of construction; at the root only.
  const std::deque<Param*>& params() const { return params_; }

 protected:
  // Adds a parameter of this module, unless `present` is false.
  Param param(const std::string& name, std::vector<int64_t> shape, bool present = true);
  void own(Param& param);

 private:
  Module& root();
  Module* parent_ = nullptr;
  std::string path_;
  std::vector<Module*> children_;
  std::deque<Param*> params_;
};

// A list of modules that are named by their place, as torch's ModuleList.
template <class T>
class ModuleList : public Module {
 public:
  ModuleList(Module* parent, const std::string& name) : Module(parent, name) {}
  template <class Derived = T, class... Args>
  Derived& add(Args&&... args) {
    return add_at<Derived>(items_.size(), std::forward<Args>(args)...);
  }
  // Where the checkpoint numbers also things without parameters (an activation in a Sequential),
  // names skip numbers.
  template <class Derived = T, class... Args>
  Derived& add_at(size_t number, Args&&... args) {
    auto item =
        std::make_unique<Derived>(this, std::to_string(number), std::forward<Args>(args)...);
    Derived& made = *item;
    items_.push_back(std::move(item));
    return made;
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T& operator[](size_t i) const { return *items_[i]; }
  T& operator[](size_t i) { return *items_[i]; }
  const T& back() const { return *items_.back(); }

 private:
  std::vector<std::unique_ptr<T>> items_;
};

}  // namespace omnirt::nn
