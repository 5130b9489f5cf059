#include "fuzz/mutate_json.hpp"

#include <array>
#include <limits>
#include <vector>

namespace omnirt::fuzz {
namespace {

void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& each : value) collect(each, all);
}

Json some_number(Random& random) {
  constexpr std::array whole{int64_t{0},
                             int64_t{1},
                             int64_t{-1},
                             int64_t{2},
                             int64_t{3},
                             int64_t{7},
                             int64_t{64},
                             int64_t{1000},
                             int64_t{-8},
                             int64_t{65536},
                             int64_t{1} << 31,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::min()};
  constexpr std::array real{0.0, -0.0, 0.5, 1.0, 40.0, -1.5, 1e-320, 1e300, -1e300, 1e18};
  switch (random() % 4) {
    case 0:
      return real[below(real.size(), random)];
    case 1:
      return std::numeric_limits<uint64_t>::max() - below(2, random);
    default:
      return whole[below(whole.size(), random)];
  }
}

Json some_value(Random& random) {
  switch (random() % 8) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return std::array{
          "", "x", "..", "4", "UNet2DConditionModel", "euler-discrete", "\u00e9"}[below(7, random)];
    case 3:
      return Json(std::vector<Json>(below(4, random), some_number(random)));
    case 4:
      return Json{{"x", some_number(random)}};
    default:
      return some_number(random);
  }
}

// A number near the one that is there, which passes the first checks more often than others.
void nudge(Json& value, Random& random) {
  auto step = static_cast<int64_t>(below(5, random)) - 2;
  if (value.is_number_integer()) {
    auto number = value.get<int64_t>();
    value = random() % 2
                ? static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(step))
                : static_cast<int64_t>(static_cast<uint64_t>(number) * static_cast<uint64_t>(step));
  } else if (value.is_number_float()) {
    value = value.get<double>() * static_cast<double>(step) + (random() % 2 ? 0 : 0.25);
  } else if (value.is_array() && !value.empty()) {
    value.push_back(value[below(value.size(), random)]);
  } else {
    value = some_value(random);
  }
}

void remove_a_part(Json& value, Random& random) {
  if (!value.is_structured() || value.empty()) return;
  auto at = value.begin();
  std::advance(at, below(value.size(), random));
  value.erase(at);
}

void change(Json& root, Random& random) {
  std::vector<Json*> all;
  collect(root, all);
  Json& one = *all[below(all.size(), random)];
  switch (random() % 8) {
    case 0:
      return remove_a_part(one, random);
    case 1: {
      Json other = *all[below(all.size(), random)];
      one = std::move(other);
      return;
    }
    case 2:
      if (one.is_object()) one["extra"] = some_value(random);
      return;
    case 3:
      one = some_value(random);
      return;
    default:
      return nudge(one, random);
  }
}

}  // namespace

Json mutate_json(Json value, Random& random) {
  for (size_t i = 0, count = 1 + below(3, random); i < count; ++i) change(value, random);
  return value;
}

}  // namespace omnirt::fuzz
