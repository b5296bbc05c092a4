// The dependency that is not installed where the tests run.
extern "C" int tenon_test_absent() { return 1; }
