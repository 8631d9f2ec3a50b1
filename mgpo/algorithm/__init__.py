"""Pure functions of the recipe: no Ray, no files, no model."""
