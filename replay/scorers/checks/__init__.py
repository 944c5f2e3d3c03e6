"""What data expects of a turn or of a conversation's end, looked at: one file for each family of kinds."""
