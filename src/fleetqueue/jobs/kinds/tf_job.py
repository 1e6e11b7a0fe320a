"""TFJob (kubeflow.org/v1): TensorFlow's roles, those that the job has."""

from fleetqueue.jobs.training import training_job

JOB = training_job("TFJob", "tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator"))
