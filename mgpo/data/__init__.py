"""Rows, chat templates, order and packing of the data."""
