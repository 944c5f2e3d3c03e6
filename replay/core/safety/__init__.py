"""What is asked, gated and marked before code runs, keys go out or load is sent; and redaction of secrets."""
