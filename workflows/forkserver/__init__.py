"""One interpreter for many jobs: a server that has imported everything, and forks a process for each job.

`launch` starts it when a run starts, `client` is what Snakemake starts for a job, `server` is the loop. A job is a
process of its own as before: it has its own log, memory and exit status, and its end by any means touches no other.
Without a server (a cluster's job, another system, a server that died) the client becomes the job.
"""
