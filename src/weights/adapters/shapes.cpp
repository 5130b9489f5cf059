#include "weights/adapters/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "base/error.hpp"
#include "tensor/weight.hpp"

namespace omnirt::adapters {
namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape, size_t from = 0) {
  return std::accumulate(shape.begin() + static_cast<int64_t>(std::min(from, shape.size())),
                         shape.end(), int64_t{1}, std::multiplies<>());
}

// Looks at the factors of one change; the first thing that does not fit is kept.
class Check {
 public:
  explicit Check(LayerChange& change) : change_(change), weight_(change.param->shape) {
    weight_[0] =
        weight_[0] / static_cast<int64_t>(change.span) * static_cast<int64_t>(change.parts);
    out_ = weight_[0];
    all_ = count(weight_);
  }

  std::string run() {
    for (const auto& [name, tensor] : change_.factors) check_type(name, tensor);
    if (!wrong_.empty()) return wrong_;
    if (change_.kind == "diff")
      want(count(shape("diff")) == all_ && shape("diff").front() == out_, "diff");
    else if (change_.kind == "norm")
      want(count(shape("norm")) == all_, "norm");
    else if (weight_.size() < 2)
      wrong_ = fmt::format("the model's is a vector of {}", weight_[0]);
    else if (change_.kind == "loha")
      check_loha();
    else if (change_.kind == "lokr")
      check_lokr();
    else
      check_lora();
    check_magnitude();
    return wrong_;
  }

 private:
  bool has(const std::string& name) const { return change_.factors.contains(name); }
  const Shape& shape(const std::string& name) const {
    return change_.factors.at(name).entry->shape;
  }
  int64_t in() const { return weight_[1]; }
  int64_t kernel() const { return count(weight_, 2); }

  void want(bool fits, const std::string& name) {
    if (fits || !wrong_.empty()) return;
    wrong_ = fmt::format("{} [{}] does not fit the model's [{}]", name,
                         fmt::join(shape(name), ", "), fmt::join(weight_, ", "));
  }

  void check_type(const std::string& name, const io::FoundTensor& tensor) {
    if (!wrong_.empty()) return;
    try {
      if (!at::isFloatingType(scalar_type(tensor.entry->dtype)))
        wrong_ = fmt::format("{} holds whole numbers", name);
    } catch (const Unsupported& refused) {
      wrong_ = refused.what();
    }
    if (wrong_.empty() && (shape(name).empty() || count(shape(name)) <= 0))
      wrong_ = fmt::format("{} is empty", name);
    if (wrong_.empty() && name != "diff" && name != "norm" && name != "magnitude" &&
        shape(name).size() < 2 && name != "dora_scale")
      wrong_ = fmt::format("{} is a vector, where a matrix is expected", name);
  }

  // {rows, columns} of a tensor whose later dimensions count as columns.
  bool is_matrix(const std::string& name, int64_t rows, int64_t columns) const {
    return shape(name)[0] == rows && count(shape(name), 1) == columns;
  }

  // A core {r, r, kernel} between {r, out} and {r, in}.
  void check_tucker(const std::string& core, const std::string& left, int64_t out,
                    const std::string& right, int64_t in, int64_t kernel) {
    int64_t r = shape(core)[0];
    want(count(shape(core), 2) == kernel && shape(core)[1] > 0, core);
    want(is_matrix(left, r, out), left);
    want(is_matrix(right, shape(core)[1], in), right);
    change_.rank = shape(core)[1];
  }

  void check_lora() {
    int64_t r = shape("down")[0];
    if (has("mid")) {
      want(shape("mid")[1] == r && count(shape("mid"), 2) == kernel(), "mid");
      want(is_matrix("up", out_, shape("mid")[0]), "up");
      want(is_matrix("down", r, in()), "down");
    } else {
      want(is_matrix("up", out_, r), "up");
      want(is_matrix("down", r, in() * kernel()), "down");
    }
    change_.rank = r;
  }

  void check_loha() {
    for (const char* which : {"1", "2"}) {
      std::string a = fmt::format("hada_w{}_a", which), b = fmt::format("hada_w{}_b", which);
      std::string core = fmt::format("hada_t{}", which);
      if (has(core)) {
        check_tucker(core, a, out_, b, in(), kernel());
        continue;
      }
      want(is_matrix(a, out_, shape(b)[0]), a);
      want(count(shape(b), 1) == all_ / out_, b);
      change_.rank = shape(b)[0];
    }
  }

  // Rows and columns (with the kernel's) of one side; sets the rank where it is a product.
  Shape side(const std::string& name) {
    if (has(name)) return {shape(name)[0], count(shape(name), 1)};
    std::string a = name + "_a", b = name + "_b";
    change_.rank = shape(b)[0];
    if (name == "lokr_w2" && has("lokr_t2")) {
      const Shape& core = shape("lokr_t2");
      check_tucker("lokr_t2", a, count(shape(a), 1), b, count(shape(b), 1), count(core, 2));
      return {count(shape(a), 1), count(shape(b), 1) * count(core, 2)};
    }
    want(count(shape(a), 1) == shape(b)[0], a);
    return {shape(a)[0], count(shape(b), 1)};
  }

  void check_lokr() {
    Shape one = side("lokr_w1"), two = side("lokr_w2");
    if (!wrong_.empty() || (one[0] * two[0] == out_ && one[1] * two[1] == all_ / out_)) return;
    wrong_ = fmt::format("[{}, {}] (x) [{}, {}] does not fit the model's [{}]", one[0], one[1],
                         two[0], two[1], fmt::join(weight_, ", "));
  }

  void check_magnitude() {
    if (!wrong_.empty()) return;
    if (has("magnitude")) want(count(shape("magnitude")) == out_, "magnitude");
    if (!has("dora_scale")) return;
    int64_t values = count(shape("dora_scale"));
    bool by_input = weight_.size() > 1 && shape("dora_scale").size() > 1 &&
                    shape("dora_scale")[0] == 1 && values == in();
    want(by_input || values == out_, "dora_scale");
  }

  LayerChange& change_;
  Shape weight_;  // of the tensor that the factors are for
  int64_t out_ = 0, all_ = 0;
  std::string wrong_;
};

}  // namespace

std::string check_shapes(LayerChange& change) {
  return Check(change).run();
}

}  // namespace omnirt::adapters
