"""What a data set is made of: its questions' kinds, lengths and shares, side by side with another's."""
