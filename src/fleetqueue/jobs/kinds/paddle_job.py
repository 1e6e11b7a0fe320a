"""PaddleJob (kubeflow.org/v1): masters and workers."""

from fleetqueue.jobs.training import training_job

JOB = training_job("PaddleJob", "paddleReplicaSpecs", ("Master", "Worker"))
