"""The suites of benchmarks, by name."""
