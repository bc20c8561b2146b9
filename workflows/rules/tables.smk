def paper_outputs(paper):
    return [f"{RESULTS}/{job.paper}/runs/{job.experiment}/{job.learner}.{job.variant}.parquet" for job in JOBS if job.paper == paper]
