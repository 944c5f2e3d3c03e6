"""LLM judges: a judge is one or more chat adapters, prompt files and a parser."""
