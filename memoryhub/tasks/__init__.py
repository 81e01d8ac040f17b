"""Interface layer, tasks: Celery's entry points, each one line that calls a use case."""
