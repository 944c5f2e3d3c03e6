"""Worker processes of this machine: started, given a job, heard, ended."""
