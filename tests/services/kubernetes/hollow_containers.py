"""Change the source of Kubernetes so that containers of hollow nodes end by themselves.

A pod says when and how in its environment: RUN_SECONDS=12, EXIT_CODE=17, REASON=OOMKilled. The kubelet stays the real
one, so phases, restarts, exit codes and the status of Jobs are those of Kubernetes; only the containers are not real.
"""

import sys
from pathlib import Path

FILE = "staging/src/k8s.io/cri-api/pkg/apis/testing/fake_runtime_service.go"
ENDING = """\tc.StartedAt = time.Now().UnixNano()
	if d, err := time.ParseDuration(c.Envs["RUN_SECONDS"] + "s"); err == nil {
		go func() {
			time.Sleep(d)
			r.Lock()
			defer r.Unlock()
			if c.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
				return
			}
			var code int
			fmt.Sscanf(c.Envs["EXIT_CODE"], "%d", &code)
			c.ExitCode = int32(code)
			c.Reason = c.Envs["REASON"]
			if c.Reason == "" {
				c.Reason = "Completed"
				if code != 0 {
					c.Reason = "Error"
				}
			}
			c.FinishedAt = time.Now().UnixNano()
			c.State = runtimeapi.ContainerState_CONTAINER_EXITED
		}()
	}

	return nil
}"""
CHANGES = (
    (
        "\t// the sandbox id of this container\n\tSandboxID string\n}",
        "\t// the sandbox id of this container\n\tSandboxID string\n\n\tEnvs map[string]string\n}",
    ),
    (
        "\tr.Containers[containerID] = &FakeContainer{\n",
        "\tenvs := map[string]string{}\n\tfor _, kv := range config.Envs {\n\t\tenvs[kv.Key] = kv.Value\n\t}\n"
        "\tr.Containers[containerID] = &FakeContainer{\n\t\tEnvs: envs,\n",
    ),
    ("\tc.StartedAt = time.Now().UnixNano()\n\n\treturn nil\n}", ENDING),
)


def main() -> None:
    path = Path(sys.argv[1]) / FILE
    text = path.read_text(encoding="utf-8")
    if "RUN_SECONDS" in text:
        return
    for before, after in CHANGES:
        assert text.count(before) == 1, f"{FILE} does not have this once: {before}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
