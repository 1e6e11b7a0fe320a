"""One file for each kind of job, with one `JOB`; the folder is the registry."""
