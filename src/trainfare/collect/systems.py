"""The systems that can be collected from, by name, with what `trainfare init` says about each. It imports nothing."""

SYSTEMS = {
    "kubernetes": "Collect from the Kubernetes cluster that kubectl uses, or that this runs in.",
    "slurm": "Collect from the Slurm cluster of this machine.",
}
