// The program that tests/pch.hpp is compiled for: an executable, as its users are, so that the
// flags agree.
int main() {}
