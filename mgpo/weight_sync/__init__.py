"""New weights on their way from the learner to the engines, and the proof that they arrived."""
