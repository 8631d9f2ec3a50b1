"""The filters of `mgpo filter`: what each does with the rows that those before it have kept."""
