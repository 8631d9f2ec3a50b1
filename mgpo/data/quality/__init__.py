"""Which rows are good enough to train on: filters of single rows, and of rows among others."""
