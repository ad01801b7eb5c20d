"""One module for each group of rows. Each has `measure(bench)`, which adds to `bench.results`."""
