"""Static pictures of runs, for papers and slides; drawn with matplotlib, which is optional."""
