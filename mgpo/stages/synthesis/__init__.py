"""The steps of `mgpo synthesize`: calls to models, what is made of their answers, the vote."""
