"""The stages of the recipe, one page each."""
