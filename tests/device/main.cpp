// The tests that need a device, and two commands:
//   device_tests goldens   compares runs in tests/goldens with the reference's, a line of JSON each
//   device_tests profile   profiles the last step of a run
// Anything else is for GoogleTest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "device/commands.hpp"

namespace omnirt::testing {
namespace {

int run_command(int argc, char** argv) {
  CLI::App app("tests of a device");
  app.require_subcommand(1);
  int status = 0;
  GoldensOptions goldens;
  CLI::App* goldens_command = app.add_subcommand("goldens", "compare runs with the reference's");
  goldens_command->add_option("--backend", goldens.backend)->required();
  goldens_command->add_option("--levels", goldens.levels)->delimiter(',');
  goldens_command->add_option("--dtypes", goldens.dtypes)->delimiter(',');
  goldens_command->add_option("--filter", goldens.filter, "a part of a golden's name");
  goldens_command->add_option("--first", goldens.first, "one run of each model")
      ->default_val(false);
  goldens_command->add_option("--shards", goldens.shards)->check(CLI::PositiveNumber);
  goldens_command->add_option("--shard", goldens.shard, "from 0")->check(CLI::NonNegativeNumber);
  goldens_command->add_option("--after", goldens.after, "skip that many runs of the shard")
      ->check(CLI::NonNegativeNumber);
  goldens_command->callback([&] { status = run_goldens(goldens); });
  ProfileOptions profile;
  CLI::App* profile_command = app.add_subcommand("profile", "profile the last step of a run");
  profile_command->add_option("--request", profile.request, "a file as generate takes it")
      ->required();
  profile_command->add_option("--trace", profile.trace, "the Chrome trace to write");
  profile_command->callback([&] { status = run_profile(profile); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::cerr << "device_tests: " << error.what() << std::endl;
    return 1;
  }
  return status;
}

}  // namespace
}  // namespace omnirt::testing

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') return omnirt::testing::run_command(argc, argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
