"""Programs that start other programs: which of their options take a value, so that the program behind is
found.

From the manual pages and `--help` texts of the tools named: coreutils, sudo, Slurm, Open MPI and MPICH,
Horovod, PyTorch (torch.distributed.run and .launch), Accelerate, DeepSpeed, Docker, Apptainer, uv, Poetry,
conda.
"""

from typing import NamedTuple


class Wrapper(NamedTuple):
    """How to skip a wrapper's own options.

    `valued`: options followed by a value; `pairs`: followed by two. Where `switches` is not empty, every
    option but those takes a value. `words`: positional words in front of the command. `launcher`: it starts
    training on several processes, so it is worth telling. `script`: what follows is a Python script, not a
    program. `assigns`: `NAME=value` may stand in front of the command, as `env` allows.
    """

    valued: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    words: int = 0
    launcher: bool = False
    script: bool = False
    assigns: bool = False


def options(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SRUN = options(
    "-n -N -c -p -A -t -J -o -e -w -x -G -q -D -C -m -r -d -i -K --ntasks --nodes --cpus-per-task"
    " --partition --gres --gpus --mem"
    " --time --job-name --output --error --account --qos --ntasks-per-node --ntasks-per-socket --cpu-bind"
    " --mpi --container-image"
    " --container-mounts --container-name --container-workdir --export --nodelist --exclude --constraint"
    " --gpus-per-node"
    " --gpus-per-task --mem-per-cpu --mem-per-gpu --jobid --gpu-bind --distribution --threads-per-core"
    " --chdir --dependency"
    " --het-group --network --reservation --signal --hint --input --comment --cpus-per-gpu --relative --wait"
    " -W --container-env"
)
_MPI = options(
    "-n -np --np -c -H -host --host -hosts --hostfile -hostfile -machinefile --machinefile -N -npernode"
    " --npernode -map-by --map-by"
    " -bind-to --bind-to -x -ppn -f -rf --rankfile -wdir --wdir -prefix --prefix -iface -rmk -bootstrap"
    " -launcher --output-filename"
    " --timeout -timeout -rank-by --rank-by -genvlist --ntasks --rs_per_host -r -a -g"
)
_TORCH_SWITCHES = options(
    "--standalone --no_python --no-python --run_path --run-path -m --module --use_env --use-env -h --help"
    " --virtual_local_rank"
    " --virtual-local-rank --numa-binding"
)
_ACCELERATE_SWITCHES = options(
    "--multi_gpu --multi-gpu --cpu --tpu --use_deepspeed --use-deepspeed --use_fsdp --use-fsdp"
    " --use_megatron_lm --quiet -q --debug"
    " --no_python --no-python -m --module --same_network --dynamo_use_dynamic --dynamo_use_fullgraph"
    " --downcast_bf16 --tpu_cluster"
    " --no_tpu_cluster --tpu_use_sudo --tpu_use_cluster --use_xpu --ipex --enable_cpu_affinity"
    " --use_parallelism_config"
    " --no_use_deepspeed --use_tp -h --help"
)
_DEEPSPEED_SWITCHES = options(
    "--module -m --no_python --no_local_rank --no_ssh --no_ssh_check --force_multi --save_pid"
    " --bind_cores_to_rank --elastic_training"
    " --detect_nvlink_pairs -h --help"
)
_DOCKER = options(
    "-v --volume -e --env --env-file -p --publish --name -w --workdir -u --user --gpus --shm-size --ipc"
    " --network --net -h"
    " --hostname --entrypoint --mount --runtime --ulimit -m --memory --cpus --cpuset-cpus --device --label"
    " -l --platform --pull"
    " --add-host --cap-add --cap-drop --security-opt --restart --log-driver --log-opt --tmpfs --pid"
    " --group-add -a --attach -c"
)
_APPTAINER = options(
    "-B --bind -H --home -W --workdir -S --scratch -o --overlay --pwd --cwd --env --env-file -s --shell"
    " --app --security --network"
    " --net-args --apply-cgroups --dns --hostname --mount --pid-file -l"
)
_UV_RUN = options(
    "--with --with-editable --with-requirements -p --python --extra --group --no-group --only-group"
    " --no-extra --project --directory"
    " --env-file --index --default-index -i --index-url --extra-index-url -f --find-links --cache-dir"
    " --config-file --package -C"
    " --config-setting --link-mode --color --prerelease --resolution --exclude-newer -P --upgrade-package"
    " --no-build-package -w"
)

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(options("-u -g -h -p -C -r -t -T -U -D -R --user --group"), assigns=True),
    "env": Wrapper(options("-u --unset -C --chdir -S"), assigns=True),
    "nohup": Wrapper(),
    "time": Wrapper(options("-o -f --output --format")),
    "exec": Wrapper(options("-a")),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "nice": Wrapper(options("-n --adjustment")),
    "ionice": Wrapper(options("-c -n -p -P -u --class --classdata")),
    "chrt": Wrapper(options("-T -P -D"), words=1),
    "stdbuf": Wrapper(options("-i -o -e --input --output --error")),
    "timeout": Wrapper(options("-s -k --signal --kill-after"), words=1),
    "gtimeout": Wrapper(options("-s -k --signal --kill-after"), words=1),
    "setsid": Wrapper(),
    "unbuffer": Wrapper(),
    "catchsegv": Wrapper(),
    "caffeinate": Wrapper(options("-t -w")),
    "numactl": Wrapper(
        options("-N -m -C -p -i --cpunodebind --membind --physcpubind --preferred --interleave")
    ),
    "taskset": Wrapper(words=1),
    "xvfb-run": Wrapper(
        options(
            "-n -s -f -e -p -w --server-num --server-args --auth-file --error-file --xauth-protocol --wait"
        )
    ),
    "xargs": Wrapper(
        options("-n -P -I -L -d -a -s -E --max-args --max-procs --replace --delimiter --arg-file --max-lines")
    ),
    "nsys": Wrapper(
        options("-o -t -w -f -s -c --output --trace --force-overwrite --sample --capture-range --stats"),
        words=1,
    ),
    "ncu": Wrapper(
        options(
            "-o -k -c -s --set --section --target-processes --kernel-name --launch-count --launch-skip"
            " --metrics"
        )
    ),
    "screen": Wrapper(options("-S -dmS -c -L -Logfile -t")),
    "aws-vault": Wrapper(words=2),
    "doppler": Wrapper(options("-p -c --project --config"), words=1),
    "dotenv": Wrapper(options("-f --file"), words=1),
    "srun": Wrapper(_SRUN, launcher=True),
    "mpirun": Wrapper(_MPI, pairs=options("-mca --mca -genv -env --gmca -gmca"), launcher=True),
    "mpiexec": Wrapper(_MPI, pairs=options("-mca --mca -genv -env --gmca -gmca"), launcher=True),
    "jsrun": Wrapper(_MPI, launcher=True),
    "aprun": Wrapper(_MPI, launcher=True),
    "ibrun": Wrapper(_MPI, launcher=True),
    "horovodrun": Wrapper(
        switches=options(
            "--gloo --mpi --jsrun --verbose --disable-cache --check-build -cb -v --version --autotune --tcp"
        ),
        launcher=True,
    ),
    "torchrun": Wrapper(switches=_TORCH_SWITCHES, launcher=True, script=True),
    "accelerate launch": Wrapper(switches=_ACCELERATE_SWITCHES, launcher=True, script=True),
    "accelerate-launch": Wrapper(switches=_ACCELERATE_SWITCHES, launcher=True, script=True),
    "deepspeed": Wrapper(switches=_DEEPSPEED_SWITCHES, launcher=True, script=True),
    "ds": Wrapper(switches=_DEEPSPEED_SWITCHES, launcher=True, script=True),
    "poetry run": Wrapper(),
    "pdm run": Wrapper(options("-p --project -e --venv")),
    "pipenv run": Wrapper(),
    "rye run": Wrapper(),
    "uv run": Wrapper(_UV_RUN),
    "uvx": Wrapper(_UV_RUN | {"--from"}),
    "pipx run": Wrapper(options("--spec --python --pip-args --index-url")),
    "pixi run": Wrapper(options("-e --environment --manifest-path")),
    "conda run": Wrapper(options("-n --name -p --prefix --cwd")),
    "mamba run": Wrapper(options("-n --name -p --prefix --cwd")),
    "micromamba run": Wrapper(options("-n --name -p --prefix --cwd -r --root-prefix -e --env -a --attach")),
    "ray job submit": Wrapper(
        options("--address --working-dir --runtime-env --runtime-env-json --submission-id --metadata-json")
    ),
    "docker run": Wrapper(_DOCKER, words=1),
    "docker container run": Wrapper(_DOCKER, words=1),
    "docker exec": Wrapper(options("-e --env -u --user -w --workdir --env-file"), words=1),
    "nvidia-docker run": Wrapper(_DOCKER, words=1),
    "podman run": Wrapper(_DOCKER, words=1),
    "docker-compose run": Wrapper(
        options("-e --name -u --user -v --volume -w --workdir -p --publish --entrypoint -l"), words=1
    ),
    "docker compose run": Wrapper(
        options("-e --name -u --user -v --volume -w --workdir -p --publish --entrypoint -l"), words=1
    ),
    "docker-compose exec": Wrapper(options("-e --env -u --user -w --workdir --index"), words=1),
    "docker compose exec": Wrapper(options("-e --env -u --user -w --workdir --index"), words=1),
    "singularity exec": Wrapper(_APPTAINER, words=1),
    "singularity run": Wrapper(_APPTAINER, words=1),
    "apptainer exec": Wrapper(_APPTAINER, words=1),
    "apptainer run": Wrapper(_APPTAINER, words=1),
    "dvc run": Wrapper(
        options("-n --name -d --deps -o --outs -O -p --params -m --metrics -M --plots -w --wdir --desc")
    ),
    "dvc stage add": Wrapper(
        options("-n --name -d --deps -o --outs -O -p --params -m --metrics -M --plots -w --wdir --desc")
    ),
}

# Python modules that start what stands behind them, by the name of the wrapper whose options they take.
MODULES: dict[str, str] = {
    "torch.distributed.launch": "torchrun",
    "torch.distributed.run": "torchrun",
    "accelerate.commands.launch": "accelerate launch",
    "accelerate.commands.accelerate_cli": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
}

# Python modules and programs that run a script or module given behind their own options; the named take a
# value.
SCRIPT_RUNNERS: dict[str, frozenset[str]] = {
    "pdb": options("-c"),
    "cProfile": options("-o -s"),
    "trace": options("-C -f -g"),
    "debugpy": options("--listen --connect --log-to"),
    "coverage": options("--source --omit --include --rcfile --data-file --concurrency --context"),
    "kernprof": options("-o -s"),
    "scalene": options("--outfile --cpu-percent-threshold"),
    "viztracer": options("-o --output_file"),
    "memory_profiler": options("-o"),
    "mprof": options("-o"),
    "ipdb": options("-c"),
    "torch.utils.bottleneck": frozenset(),
}

_PYTEST = options(
    "-v -vv -vvv -s -x -q -qq -sv -vs -xv -vx -svv -l -f -ra -rA --lf --ff --exitfirst --verbose --quiet"
)
_PIP = options(
    "-U --upgrade -q -qq --quiet --user --pre --no-deps --no-cache-dir --no-cache --force-reinstall"
    " --no-build-isolation --system"
    " -v --verbose -I --ignore-installed --require-hashes --break-system-packages --no-index --prefer-binary"
    " -y --yes -I"
)

# Flags that take no value, of programs that are met in every repository.
SWITCHES: dict[str, frozenset[str]] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": options("-v -q -f -b --verbose --quiet --failfast"),
    "pip": _PIP,
    "pip3": _PIP,
    "uv": _PIP,
    "conda": options("-y --yes -q --quiet --override-channels --no-deps --force-reinstall -v"),
    "mamba": options("-y --yes -q --quiet --override-channels --no-deps --force-reinstall -v"),
    "apt": options("-y --yes -q -qq --no-install-recommends"),
    "apt-get": options("-y --yes -q -qq --no-install-recommends"),
    "build": options("-s -w --sdist --wheel -n --no-isolation"),
}
