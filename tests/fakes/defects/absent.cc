// A dependency that is missing when the tests run.
extern "C" int tenon_test_absent() { return 1; }
