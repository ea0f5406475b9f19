"""The compose stack: the same verbs as the local one, on containers instead of processes.

    engine       the engine's API over its socket
    containers   a set of containers as a supervisor of processes: start, stop, kill, who runs
    deployment   one copy of the system; the main one is docker-compose.yml's, a run's is made here
    stack        servers and deployments as one object
    host         outside of containers: `once up` and its like by `docker compose`

All but ``host`` runs in the container of the service ``once``, beside the servers and on their network.
"""
