"""Teams, projects and jobs of the simulated company."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Project:
    name: str
    cost_center: str
    experiments: int


@dataclass(frozen=True)
class Team:
    name: str
    owners: tuple[str, ...]
    projects: tuple[Project, ...]


TEAMS = {
    team.name: team
    for team in (
        Team(
            "nlp",
            ("ana.silva", "boris.lang", "chen.wei", "dana.roth", "emil.berg"),
            (
                Project("atlas-llm", "CC-4100", 9),
                Project("retrieval", "CC-4100", 6),
                Project("summaries", "CC-4110", 5),
            ),
        ),
        Team(
            "vision",
            ("farah.aziz", "goran.petek", "hana.sato", "ivo.novak"),
            (Project("defect-detect", "CC-4200", 8), Project("street-scenes", "CC-4200", 10)),
        ),
        Team(
            "speech",
            ("jun.park", "kira.holm", "luca.riva"),
            (Project("asr-core", "CC-4300", 7), Project("tts-voices", "CC-4310", 6)),
        ),
    )
}


@dataclass(frozen=True)
class Job:
    """What a person asked to train, with its labels."""

    job_id: str
    owner: str
    team: str
    project: str
    experiment: str
    cost_center: str
    model_version: str
    priority: str
    framework: str

    def label(self, key: str) -> str:
        value: str = getattr(self, key)
        return value


def random_job(rng: Random, team: str, number: int) -> Job:
    """Create the `number`-th job, submitted by a member of `team`."""
    members = TEAMS[team]
    project = rng.choice(members.projects)
    experiment = rng.randint(1, project.experiments)
    return Job(
        job_id=f"{team}-{number:05d}",
        owner=rng.choice(members.owners),
        team=team,
        project=project.name,
        experiment=f"{project.name}-exp-{experiment:02d}",
        cost_center=project.cost_center,
        model_version=f"{project.name}-v{1 + experiment // 4}.{experiment % 4}",
        priority=rng.choices(("low", "normal", "high"), (25, 60, 15))[0],
        framework=rng.choices(("pytorch", "jax"), (80, 20))[0],
    )
