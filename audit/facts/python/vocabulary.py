"""The calls that are kept whole. Any other call leaves only an edge of the call graph.

A call is kept when its last name part is in `CALLS` or ends like one of `ENDINGS`, when its resolved root is in `ROOTS`, or when
one of its keywords is in `KEYWORDS`. Widening any of them needs no other change than a new extractor version, which the
cache takes from this file's content.
"""

CALLS: frozenset[str] = frozenset(
    """
    manual_seed manual_seed_all seed set_seed seed_everything seed_all set_random_seed random_seed RandomState
    default_rng PRNGKey key Rngs Generator SeedSequence Random SystemRandom set_rng_state get_rng_state
    set_rng_state_all get_rng_state_all getstate setstate get_state set_state use_deterministic_algorithms
    enable_op_determinism enable_full_determinism set_deterministic set_deterministic_debug_mode
    set_float32_matmul_precision from_seed make_rng fold_in split reset backward step zero_grad fit
    fit_generator train train_step train_on_batch train_and_evaluate apply_gradients apply_updates
    value_and_grad grad jit learn minimize GradientTape update manual_backward optimizer_step train_batch
    compute_gradients from_pretrained from_config load_dataset load_dataset_builder load_from_disk load_metric
    hf_hub_download snapshot_download cached_download hf_hub_url pipeline get_dataset_config_names
    get_dataset_split_names SentenceTransformer CrossEncoder LLM AsyncLLMEngine load_state_dict_from_url
    download_url urlretrieve urlopen wget get_file cached_path download download_and_extract_archive
    download_file extractall ImageFolder read_csv read_json read_parquet fetch_openml load_model load_weights
    load_data as_dataset builder save save_pretrained save_checkpoint save_state save_model save_weights
    save_file dump dumps savez push_to_hub save_to_disk save_lora_weights CheckpointManager Checkpointer
    StandardCheckpointer PyTreeCheckpointer Checkpoint ModelCheckpoint BackupAndRestore state_dict
    load_state_dict load_state restore restore_checkpoint load_checkpoint load latest_checkpoint latest_step
    restore_or_initialize model_state_dict set_weights load_from_checkpoint resume_from_checkpoint
    save_file_atomic write_checkpoint init_process_group DistributedDataParallel DDP FSDP
    FullyShardedDataParallel fully_shard DataParallel Accelerator initialize pmap shard_map xmap all_reduce
    all_gather reduce psum pmean MirroredStrategy MultiWorkerMirroredStrategy TPUStrategy spawn
    init_distributed DistributedSampler LightningDistributedModule initialize_model_parallel Fabric allreduce
    multi_gpu_model broadcast autocast GradScaler half bfloat16 float16 custom_fwd set_global_policy
    set_policy LossScaleOptimizer enable_mixed_precision_graph_rewrite SummaryWriter FileWriter
    create_file_writer create_default_writer TensorBoardLogger WandbLogger CSVLogger MLFlowLogger CometLogger
    NeptuneLogger TensorBoard WandbCallback ArgumentParser add_argument parse_args parse_known_args
    set_defaults HfArgumentParser parse_args_into_dataclasses parse_json_file add_parser TrlParser create
    merge from_cli to_container safe_load full_load unsafe_load ConfigDict config_flags Fire cli Typer
    LightningCLI CLI exec eval execfile exec_module import_module run_path run_module literal_eval accumulate
    DataLoader random_split train_test_split KFold StratifiedKFold shuffle map batch from_tensor_slices
    prefetch interleave randperm set frozenset listdir glob iglob iterdir rglob walk scandir hash time time_ns
    getpid uuid4 urandom item cpu numpy tolist print no_grad inference_mode synchronize completion acompletion
    generate_content OpenAI AsyncOpenAI AzureOpenAI Anthropic AsyncAnthropic ChatOpenAI ChatAnthropic
    GenerativeModel generate chat invoke responses batch_completion ChatGroq ChatMistralAI
    ChatGoogleGenerativeAI LoraConfig get_peft_model prepare_model_for_kbit_training
    prepare_model_for_int8_training SamplingParams BitsAndBytesConfig GPTQConfig AwqConfig PrivacyEngine
    make_private make_private_with_epsilon apply_chat_template torch_load pickle_load loads unpickle system
    popen Popen check_call check_output run getenv putenv setdefault get clip_grad_norm_ clip_grad_norm
    grad_norm compile MultiSteps instantiate instantiate_from_config get_obj_from_str sort sorted natsorted is_bf16_supported
    memmap imread evaluate validate MixedPrecision MixedPrecisionPolicy globals vars asdict no_sync Live
    dataclass Saver steps_per_execution distribute_dataset InteractiveSession Session ConfigProto basicConfig
    """.split()
)

ENDINGS: tuple[str, ...] = (
    "Trainer", "TrainingArguments", "Arguments", "Config", "DataLoader", "Loader", "Logger", "Strategy", "DataModule", "Estimator",
    "Classifier", "Regressor", "VectorStore", "Retriever", "Writer", "Sampler", "_seed", "_seeds", "_deterministic", "_checkpoint", "_dataset",
    "Callback", "ArgumentParser", "Plugin", "Embeddings", "Scheduler", "ParallelKernel", "FileHandler",
)  # fmt: skip

ROOTS: frozenset[str] = frozenset(
    """
    wandb mlflow comet_ml neptune clearml aim trackio dvclive swanlab tensorboardX peft trl accelerate
    deepspeed horovod optax orbax lightning pytorch_lightning lightning_fabric bitsandbytes datasets evaluate
    openai anthropic litellm vllm sglang opacus ray hydra omegaconf gin absl ml_collections stable_baselines3
    sb3_contrib sklearn xgboost lightgbm catboost tensorflow_datasets kagglehub gdown torchmetrics lm_eval
    lighteval inspect_ai faiss chromadb langchain llama_index tyro fire typer click jsonargparse optuna
    megatron fairscale apex auto_gptq autoawq awq gptq optimum cohere mistralai together replicate groq
    tensorflow_federated tensorflow_privacy pyterrier torchtext torchaudio
    """.split()
)

PREFIXES: tuple[str, ...] = (
    "random.", "numpy.random.", "torch.optim.", "torch.hub.", "torch.backends.", "torch.random.", "torchvision.datasets.", "torch.distributed.",
    "tensorflow.random.", "jax.random.", "jax.lax.", "torch.cuda.amp", "torch.multiprocessing.", "keras.optimizers.", "tensorflow.keras.optimizers.",
    "tensorflow.distribute.", "tensorflow.data.", "google.generativeai", "torch_geometric.datasets.", "torch_geometric.loader.", "tensorflow.config.",
    "tensorflow.contrib.", "tensorflow.train.", "secrets.",
)  # fmt: skip

TORCH_DRAWS: frozenset[str] = frozenset(
    "rand randn randint randperm normal multinomial bernoulli rand_like randn_like poisson empty".split()
)

KEYWORDS: frozenset[str] = frozenset(
    """
    trust_remote_code revision bnb_4bit_quant_type gptq_bits seed random_state worker_init_fn generator
    load_in_4bit load_in_8bit quantization_config deterministic random_seed rng_seed num_workers pin_memory
    weights_only allow_pickle temperature max_tokens max_new_tokens judge_model resume_from_checkpoint
    precision tensorboard_log strategy metadata
    """.split()
)

# Receivers and modules that the call graph never needs: nothing in them is defined by the audited repository.
EXTERNAL: frozenset[str] = frozenset(
    """
    torch torchvision torchaudio numpy np tensorflow tf jax jnp pandas scipy sklearn matplotlib seaborn PIL
    cv2 tqdm yaml requests pytest os sys re json math time logging random typing collections itertools
    functools pathlib copy argparse dataclasses abc enum warnings subprocess shutil glob io csv pickle string
    datetime contextlib inspect threading multiprocessing concurrent asyncio urllib unittest tempfile hashlib
    uuid traceback operator struct zipfile tarfile gzip socket queue signal
    """.split()
)

# Methods of builtins and tensors: as edges of the call graph they would only make noise.
PLAIN_METHODS: frozenset[str] = frozenset(
    """
    append extend insert pop remove clear copy items keys values get update add join split strip lstrip rstrip
    replace format startswith endswith lower upper encode decode read write close readline readlines flush
    seek index count sort reverse setdefault discard union view reshape permute transpose contiguous to cuda
    cpu detach item float long int bool half size dim unsqueeze squeeze expand repeat mean sum max min std var
    abs sqrt pow exp log clamp masked_fill matmul mm bmm softmax argmax argmin topk gather scatter backward
    zero_grad numpy tolist type type_as new_zeros new_ones new_tensor fill_ zero_ copy_ chunk flatten eq ne lt
    gt le ge any all nonzero cumsum norm clone parameters named_parameters state_dict load_state_dict modules
    children register_buffer requires_grad_ isoformat total_seconds exists mkdir is_dir is_file as_posix group
    groups match search findall sub finditer info debug warning error exception critical warn print t shape
    astype ravel dot T isdigit zfill title capitalize ljust rjust splitlines partition rsplit find rfind
    """.split()
)

CONFIG_RECEIVERS: frozenset[str] = frozenset(
    """
    args opt opts options cfg config conf configs hparams hyperparams FLAGS flags params hp parser_args
    training_args model_args data_args script_args train_args arguments settings parsed_args cli_args FLAG C
    kwargs experiment
    """.split()
)

CHECKPOINT_KEYS: frozenset[str] = frozenset(
    """
    optimizer optim optimizer_state optimizer_state_dict opt opt_state optimizers epoch step global_step
    iteration iter iter_num steps epochs worker_init_fn accelerator strategy state_dict model model_state model_state_dict
    scheduler lr_scheduler scaler rng rng_state rng_states random_rng_state random_state torch_rng_state np_rng_state
    cuda_rng_state python_rng_state weights net network params seed ema best_acc trust_remote_code
    quantization_config load_in_4bit load_in_8bit
    """.split()
)
