"""How load reaches a system: who arrives when, what is played, where it may go, and how much is enough."""
