"""XGBoostJob (kubeflow.org/v1): one master and its workers."""

from fleetqueue.jobs.training import training_job

JOB = training_job("XGBoostJob", "xgbReplicaSpecs", ("Master", "Worker"))
